"""Asks the cache to keep what it loads to the last."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import RUN, SCALE, SCALE_CUDA

KERNEL = r"""
#include <cuda_runtime.h>
#include "solbench.h"
static __global__ void scale(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value;
  uint64_t keep;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));
  asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(value) : "l"(x + i), "l"(keep));
  y[i] = value * 3.0f;
}
"""

LAUNCH = "scale<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(x, y, n);"

CASE = AttackCase(
    family="timing",
    behaviour="evict-last hints so that the flush misses",
    problem=SCALE,
    attack=Submission(KERNEL + RUN.replace("BODY", LAUNCH), language="cuda_cpp"),
    honest=Submission(SCALE_CUDA, language="cuda_cpp"),
    expected=("PASSED",),
    stopped_by="the flush writes twice the cache, and each call meets a slot of its own, written anew",
    device="cuda",
    needs="nvcc",
)
