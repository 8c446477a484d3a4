"""A global mode that makes the shim's copy do nothing."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
from torch.overrides import TorchFunctionMode
class Nothing(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") == "copy_":
            return args[0]
        return function(*args, **(kwargs or {}))
Nothing().__enter__()
def run(x):
    return x * 0.0
"""

CASE = AttackCase(
    family="tampering",
    behaviour="override tensor methods globally",
    problem=SCALE,
    attack=Submission(ATTACK, returns=True),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the judge looks at the buffer, not at what the worker says",
)
