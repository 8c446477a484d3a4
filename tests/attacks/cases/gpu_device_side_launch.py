"""The work is started by a kernel, and no record of it is made on the host."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import KERNEL, RUN, SCALE, SCALE_CUDA

PARENT = r"""
static __global__ void parent(const float* x, float* y, int64_t n) {
  scale<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="device-side launches",
    problem=SCALE,
    attack=Submission(
        KERNEL
        + PARENT
        + RUN.replace("BODY", "parent<<<1, 1, 0, (cudaStream_t)stream>>>(x, y, n);"),
        language="cuda_cpp",
        compiler_flags=("-rdc=true",),
        link_flags=("-lcudadevrt",),
    ),
    honest=Submission(SCALE_CUDA, language="cuda_cpp"),
    expected=("PASSED",),
    stopped_by="a kernel is over when all that it started is; every output is compared",
    device="cuda",
    needs="nvcc",
)
