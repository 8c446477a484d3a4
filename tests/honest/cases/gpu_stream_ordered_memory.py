"""A native workspace that is taken and given back in stream order, in each call."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import KERNEL, RUN, SCALE

BODY = r"""
  float* space = nullptr;
  cudaStream_t on = (cudaStream_t)stream;
  if (cudaMallocAsync((void**)&space, n * sizeof(float), on)) return 2;
  scale<<<(n + 255) / 256, 256, 0, on>>>(x, space, n);
  cudaMemcpyAsync(y, space, n * sizeof(float), cudaMemcpyDeviceToDevice, on);
  cudaFreeAsync(space, on);
"""

CASE = HonestCase(
    "memory that moves without a record",
    SCALE,
    Submission(KERNEL + RUN.replace("BODY", BODY), language="cuda_cpp"),
    device="cuda",
    needs="nvcc",
)
