"""Keeps a repacked weight, and repacks when any byte of it has changed."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import HEAVY

SOLUTION = """
import torch
packed = {}
def pack(w):
    kept = packed.get(w.data_ptr())
    if kept is None or not torch.equal(kept[0], w):
        packed[w.data_ptr()] = kept = (w.clone(), w.t().contiguous().t())
    return kept[1]
def run(x, w, y):
    p = pack(w)
    torch.mm(torch.tanh(x @ p), p, out=y)
"""

CASE = HonestCase("weights prepacked across calls", HEAVY, Submission(SOLUTION))
