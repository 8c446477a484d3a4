"""Computes all slots of a run in its first call; the other calls return at once."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import CHAIN, CHAIN_HONEST

ATTACK = """
import ctypes, gc, torch

def page():
    for thing in gc.get_objects():
        if type(thing).__name__ == "Page":
            return thing.fields

def own(tensor):
    memory = (ctypes.c_char * (4 * len(tensor))).from_address(tensor.data_ptr())
    return torch.frombuffer(memory, dtype=torch.float32)

fields = page()
inputs, outputs, last = {}, {}, [0]

def compute(rows, destinations):
    rows = rows.clone()
    for _ in range(160):
        rows.sin_().mul_(1.5)
    for row, y in zip(rows, destinations):
        y.copy_(row)

def run(x, y):
    turn, first, count = fields[0], fields[3], fields[4]
    if count == 1:
        inputs[first], outputs[first] = own(x), own(y)
        compute(x[None], [y])
    elif turn != last[0]:
        last[0] = turn
        slots = range(first, first + count)
        compute(torch.stack([inputs[slot] for slot in slots]), [outputs[slot] for slot in slots])
"""

CASE = AttackCase(
    family="timing",
    behaviour="do all N inputs in the first timed call, later ones are look-ups",
    problem=CHAIN,
    attack=Submission(ATTACK),
    honest=Submission(CHAIN_HONEST),
    expected=("PASSED",),
    stopped_by="times of runs of several calls are not verified",
)
