"""Keeps answers by a hash of the whole input."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import hashlib, torch
cache = {}
def run(x, w, y):
    key = hashlib.blake2b(x.numpy().tobytes() + w.numpy().tobytes()).digest()
    if key not in cache:
        cache[key] = torch.tanh(x @ w) @ w
    y.copy_(cache[key])
"""

CASE = AttackCase(
    family="caching",
    behaviour="cache by content hash",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="fresh values each call: a true key never hits",
)
