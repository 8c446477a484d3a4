"""Computes in managed memory, which moves without a record of a copy."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import KERNEL, RUN, SCALE, SCALE_CUDA

BODY = r"""
  static float* kept = nullptr;
  if (!kept) cudaMallocManaged(&kept, n * sizeof(float));
  cudaStream_t on = (cudaStream_t)stream;
  scale<<<(n + 255) / 256, 256, 0, on>>>(x, kept, n);
  cudaMemcpyAsync(y, kept, n * sizeof(float), cudaMemcpyDefault, on);
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="managed-memory migration that a profiler does not record",
    problem=SCALE,
    attack=Submission(KERNEL + RUN.replace("BODY", BODY), language="cuda_cpp"),
    honest=Submission(SCALE_CUDA, language="cuda_cpp"),
    expected=("PASSED",),
    stopped_by="the clock does not depend on records of kernels or copies",
    device="cuda",
    needs="nvcc",
)
