"""Products of nineteen-bit numbers, set and restored inside the call."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
def run(x, w, y):
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.mm(torch.tanh(x @ w), w, out=y)
    torch.backends.cuda.matmul.allow_tf32 = False
"""

CASE = AttackCase(
    family="precision",
    behaviour="fp32 computed in TF32",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the problem's tolerance",
    device="cuda",
)
