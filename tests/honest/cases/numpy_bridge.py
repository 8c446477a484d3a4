"""Computes in numpy on the same memory."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
import numpy
def run(x, y):
    numpy.multiply(x.numpy(), numpy.float32(3.0), out=y.numpy())
"""

CASE = HonestCase(
    looks_like="memory tricks behind torch's back",
    problem=SCALES,
    solution=Submission(SOURCE),
)
