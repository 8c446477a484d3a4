"""Leaves the kernel files to write back while the reference runs."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import os, torch
block = bytes(8 << 20)
files = [os.open(f"f{number}", os.O_RDWR | os.O_CREAT) for number in range(8)]
calls = [0]
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
    calls[0] += 1
    file = files[calls[0] % 8]
    for part in range(4):
        os.pwrite(file, block, part * len(block))
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)  # begins to write back
"""

CASE = AttackCase(
    family="timing",
    behaviour="slow the baseline: files that the kernel writes back meanwhile",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="bounded: writing takes time of the submission's own, and the reference's time is shown",
)
