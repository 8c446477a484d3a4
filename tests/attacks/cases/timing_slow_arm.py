"""Takes its time where it is not measured, so that there is time for few samples."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import gc, time, torch
(Device,) = {type(thing) for thing in gc.get_objects() if type(thing).__name__ == "CpuDevice"}
plain = Device.arm
def arm(self, *where):
    time.sleep(0.3)
    plain(self, *where)
Device.arm = arm
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="few samples: slow between calls",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="each sample is right by itself; few are flagged",
)
