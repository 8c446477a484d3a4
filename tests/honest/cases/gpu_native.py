"""A kernel in C++ on the stream that it is given."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import KERNEL, RUN, SCALE

BODY = "scale<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(x, y, n);"

CASE = HonestCase(
    "native code",
    SCALE,
    Submission(KERNEL + RUN.replace("BODY", BODY), language="cuda_cpp"),
    device="cuda",
    needs="nvcc",
)
