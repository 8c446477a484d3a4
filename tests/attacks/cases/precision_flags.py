"""Sets a global precision flag inside the call and sets it back."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
def run(x, w, y):
    torch.set_float32_matmul_precision("medium")
    torch.mm(torch.tanh(x @ w), w, out=y)
    torch.set_float32_matmul_precision("highest")
"""

CASE = AttackCase(
    family="precision",
    behaviour="global flags, set and restored inside run",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    # On some processors the flag picks another library's product, which is faster and no less precise.
    kind="policy",
    expected=("INCORRECT_NUMERICAL", "PASSED"),
    stopped_by="the problem's tolerance, where the flag has an effect",
)
