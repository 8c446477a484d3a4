"""Looks for the answer behind its buffers, in all that their handles expose."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
class Span:
    def __init__(self, address, nbytes):
        self.__cuda_array_interface__ = {
            "data": (address, False), "shape": (nbytes // 4,), "typestr": "<f4", "version": 3,
        }
block = 2 << 20
def run(x, y):
    want = x[:4] * 3.0
    for tensor in (x, y):
        start = tensor.data_ptr() // block * block
        near = torch.as_tensor(Span(start, 2 * block), device="cuda")
        hits = (near == want[0]).nonzero()
        for at in hits[:4, 0].tolist():
            if near[at : at + 4].equal(want):
                y.copy_(near[at : at + len(y)])
                return
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="find expected tensors through a scan of shared device memory",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "RUNTIME_ERROR"),
    stopped_by="one allocation a role: nothing else lies in what a handle exposes",
    device="cuda",
)
