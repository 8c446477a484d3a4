"""Imports the benchmark and its bundled problems."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import importlib
stolen = None
for name in ("solbench.suite", "solbench.judge", "solbench.spec"):
    try:
        stolen = importlib.import_module(name)
    except Exception:
        pass
def run(x, y):
    if stolen is not None:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="import the reference from the installed benchmark",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="Landlock: no files but packages, artifact and scratch; SolBench itself is left out",
)
