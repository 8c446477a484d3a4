"""Draws the inputs of every call in advance, as the judge would from a secret that everyone knows."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import hashlib, torch
def number(data):
    return hashlib.sha256(data).digest()[:8]
known = {}
for call in range(1000):
    seed = int.from_bytes(number(bytes(32) + call.to_bytes(8, "little")), "little") >> 1
    drawn = int.from_bytes(number(b"%d\\0scale-0\\0x" % seed), "big") >> 1
    x = torch.randn(1000, generator=torch.Generator().manual_seed(drawn))
    known[float(x[0])] = x * 3.0
def run(x, y):
    answer = known.get(float(x[0]))
    if answer is not None:
        y.copy_(answer)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="regenerate inputs from a public seed",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seeds are secret and drawn anew for each workload",
)
