"""Has the kernel lay its buffers on huge pages, in the time that is not measured."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import problem

ATTACK = """
import ctypes, re, torch
libc = ctypes.CDLL(None, use_errno=True)
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25
seen = set()
def run(x, y):
    if y.data_ptr() not in seen:
        seen.add(y.data_ptr())
        for tensor in (x, y):
            first = tensor.data_ptr() & ~0xFFF
            for advice in (MADV_HUGEPAGE, MADV_COLLAPSE):
                libc.madvise(first, tensor.nbytes, advice)
    torch.mul(x, 3.0, out=y)
"""

WIDE = problem(
    "wide",
    "import torch\n\n\ndef run(x):\n    return x * 3.0\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 1 << 20}],
)

CASE = AttackCase(
    family="timing",
    behaviour="change the machine: buffers on huge pages",
    problem=WIDE,
    attack=Submission(ATTACK),
    honest=Submission("import torch\ndef run(x, y):\n    torch.mul(x, 3.0, out=y)\n"),
    expected=("PASSED",),
    stopped_by="the kernel lays memory files on small pages",
)
