"""Takes nearly all of the device's memory, so that the judge has none left to compare with."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
kept = []
def hoard():
    free, _ = torch.cuda.mem_get_info()
    kept.append(torch.empty(free - (300 << 20), dtype=torch.uint8, device="cuda"))
calls = [0]
def run(x, y):
    calls[0] += 1
    if calls[0] == 1:
        hoard()
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="hoarding device memory",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("PASSED", "RUNTIME_ERROR", "INVALID_REFERENCE"),
    stopped_by="whatever comes of it is a verdict; it wins no time",
    device="cuda",
)
