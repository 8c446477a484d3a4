"""A launch with more threads than a block may have fails, and says nothing."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import KERNEL, RUN, SCALE, SCALE_CUDA

BODY = r"""
  static int calls = 0;
  if (++calls < 8) scale<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(x, y, n);
  else scale<<<1, 4096, 0, (cudaStream_t)stream>>>(x, y, n);
  cudaGetLastError();
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="a failed launch that leaves the old buffer, on a GPU",
    problem=SCALE,
    attack=Submission(KERNEL + RUN.replace("BODY", BODY), language="cuda_cpp"),
    honest=Submission(SCALE_CUDA, language="cuda_cpp"),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="outputs are overwritten before each call",
    device="cuda",
    needs="nvcc",
)
