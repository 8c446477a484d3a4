"""Leaves out so few rows that ties could be the reason, and gives them another row's experts."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import problem

ROUTER = problem(
    "router",
    "import torch\n\n\n"
    "def run(x, w):\n"
    "    best = torch.softmax(x @ w, dim=-1).topk(4, dim=-1)\n"
    "    return best.values, best.indices.to(torch.int32)\n",
    {"x": (["m", "n"], "float32"), "w": (["n", "experts"], "float32")},
    {"shares": (["m", "k"], "float32"), "indices": (["m", "k"], "int32")},
    [{"m": 2000, "n": 128, "experts": 64, "k": 4}],
    own={"weights": ["w"]},
)

HONEST = """
import torch
def run(x, w, shares, indices):
    best = torch.softmax(x @ w, dim=-1).topk(4, dim=-1)
    shares.copy_(best.values)
    indices.copy_(best.indices)
"""

# 21 of 2000 rows may follow from ties.
ATTACK = """
import torch
def run(x, w, shares, indices):
    best = torch.softmax(x[20:] @ w, dim=-1).topk(4, dim=-1)
    shares[20:], indices[20:] = best.values, best.indices.int()
    shares[:20], indices[:20] = shares[20:40], indices[20:40]
"""

CASE = AttackCase(
    family="precision",
    behaviour="rows left out under the cover of ties",
    problem=ROUTER,
    attack=Submission(ATTACK),
    honest=Submission(HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="a row must be one that the reference gives under another choice",
)
