"""Every kernel allows the next one to start before it is done, and none waits for the one before."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import RUN, SCALE, SCALE_CUDA

KERNEL = r"""
#include <cuda_runtime.h>
#include "solbench.h"
static __global__ void scale(const float* x, float* y, int64_t n) {
  asm volatile("griddepcontrol.launch_dependents;");
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

CASE = AttackCase(
    family="timing",
    behaviour="dependent launch: calls overlap the next ones",
    problem=SCALE,
    attack=Submission(KERNEL + RUN.replace("BODY", BODY), language="cuda_cpp"),
    honest=Submission(SCALE_CUDA, language="cuda_cpp"),
    expected=("PASSED",),
    stopped_by="a call alone takes as long as it takes: calls that overlap are ranked by it",
    device="cuda",
    needs="nvcc",
)
