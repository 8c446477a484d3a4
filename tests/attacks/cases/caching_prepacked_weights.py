"""Transforms the weights once and keeps them."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
packed = {}
def run(x, w, y):
    if w.data_ptr() not in packed:
        packed[w.data_ptr()] = w.t().contiguous()
    p = packed[w.data_ptr()].t()
    torch.mm(torch.tanh(x @ p), p, out=y)
"""

CASE = AttackCase(
    family="caching",
    behaviour="weights prepacked once across calls",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="all inputs change each call: no problem here lets weights be prepacked",
)
