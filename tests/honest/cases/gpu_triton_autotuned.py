"""A Triton kernel that tries several block sizes on the first call."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import SCALE

SOLUTION = """
import torch, triton
import triton.language as tl
@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (256, 1024, 4096)], key=["n"]
)
@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 3.0, mask=at < n)
def run(x, y):
    n = x.numel()
    scale[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
"""

CASE = HonestCase(
    "slow warm-up", SCALE, Submission(SOLUTION, language="triton"), device="cuda", needs="triton"
)
