"""A FakeTensor without values."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
from torch._subclasses.fake_tensor import FakeTensorMode
mode = FakeTensorMode()
def run(x):
    return mode.from_tensor(x)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="FakeTensor",
    problem=SCALE,
    attack=Submission(ATTACK, returns=True),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_DTYPE", "RUNTIME_ERROR"),
    stopped_by="exact type torch.Tensor",
)
