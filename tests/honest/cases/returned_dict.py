"""Returns its outputs by name."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
def run(x):
    return {"y": x * 3.0}
"""

CASE = HonestCase(
    looks_like="something that is no tensor",
    problem=SCALE,
    solution=Submission(SOURCE, returns=True),
)
