"""Kernels that may start early and wait for the one before: the overlap is of launches only."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import RUN, SCALE

KERNEL = r"""
#include <cuda_runtime.h>
#include "solbench.h"
static __global__ void scale(const float* x, float* y, int64_t n) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 3.0f;
}
"""

BODY = r"""
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how = {};
  how.gridDim = dim3((unsigned)((n + 255) / 256));
  how.blockDim = dim3(256);
  how.stream = (cudaStream_t)stream;
  how.attrs = &early;
  how.numAttrs = 1;
  cudaLaunchKernelEx(&how, scale, x, y, n);
"""

CASE = HonestCase(
    "dependent launch: calls overlap the next ones",
    SCALE,
    Submission(KERNEL + RUN.replace("BODY", BODY), language="cuda_cpp"),
    device="cuda",
    needs="nvcc",
)
