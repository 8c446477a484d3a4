"""A tensor subclass that would compute when compared."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})
def run(x):
    return x.as_subclass(Lazy)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="tensor subclass with lazy evaluation",
    problem=SCALE,
    attack=Submission(ATTACK, returns=True),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_DTYPE",),
    stopped_by="exact type torch.Tensor",
)
