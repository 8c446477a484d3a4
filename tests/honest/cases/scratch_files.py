"""Keeps plans in a file of its scratch folder."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import json, os, torch
def run(x, y):
    if not os.path.exists("plan.json"):
        json.dump({"factor": 3.0}, open("plan.json", "w"))
    torch.mul(x, json.load(open("plan.json"))["factor"], out=y)
"""

CASE = HonestCase(
    looks_like="a disk cache between processes",
    problem=SCALE,
    solution=Submission(SOURCE),
)
