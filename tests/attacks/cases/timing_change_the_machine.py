"""Affinity, priority, governors and clocks."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import glob, os, torch
# Everything is set to what it is: no harm where it is allowed.
def attempts():
    yield lambda: os.sched_setaffinity(0, os.sched_getaffinity(0))
    yield lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0))
    yield lambda: os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    for path in glob.glob("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"):
        yield lambda path=path: os.close(os.open(path, os.O_WRONLY))
def works(attempt):
    try:
        attempt()
    except OSError:
        return False
    return True
assert not any(works(attempt) for attempt in attempts())
def run(x, y):
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="change clocks or power",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("PASSED",),
    stopped_by="seccomp: no scheduling, priorities or clocks; Landlock: no governors",
)
