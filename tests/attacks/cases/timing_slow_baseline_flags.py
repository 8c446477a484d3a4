"""Sets every global flag that would make the reference slow, if they shared a process."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import os, torch
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
os.environ["MKL_DEBUG_CPU_TYPE"] = "4"
torch.use_deterministic_algorithms(True)
torch.autograd.set_detect_anomaly(True)
torch.backends.mkldnn.enabled = False
def run(x, w, y):
    torch.backends.mkldnn.enabled = True
    torch.mm(torch.tanh(x @ w), w, out=y)
    torch.backends.mkldnn.enabled = False
"""

CASE = AttackCase(
    family="timing",
    behaviour="slow the baseline by flags",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="the reference runs in another process",
)
