"""Answers in constants."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import base64, struct, torch
DATA = base64.b64encode(struct.pack("1000f", *[0.5] * 1000))
ANSWER = torch.tensor(struct.unpack("1000f", base64.b64decode(DATA)))
def run(x, y):
    y.copy_(ANSWER)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="answers in constants",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every timed call is compared",
)
