"""A Triton kernel through the interpreter."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import torch, triton
import triton.language as tl
@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, tl.load(x + at, mask=inside) * 3.0, mask=inside)
def run(x, y):
    kernel[(triton.cdiv(len(x), 256),)](x, y, len(x), BLOCK=256)
"""

CASE = HonestCase(
    looks_like="code that is assembled at run time",
    problem=SCALE,
    solution=Submission(SOURCE, language="triton"),
    needs="triton",
)
