"""Affinity, priority, governors and clocks."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, glob, os, time, torch
def attempts():
    yield lambda: os.sched_setaffinity(0, range(os.cpu_count()))
    yield lambda: os.nice(-20)
    yield lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)
    yield lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    yield lambda: time.clock_settime(time.CLOCK_REALTIME, 0)
    for path in glob.glob("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"):
        yield lambda path=path: open(path, "w").write("performance")
worked = []
for attempt in attempts():
    try:
        attempt()
        worked.append(attempt)
    except OSError:
        pass
assert not worked
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
