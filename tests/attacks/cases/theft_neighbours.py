"""Reads the memory and descriptors of processes nearby, the reference's worker among them."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
found = []
me = os.getpid()
for pid in [os.getppid(), *range(max(1, me - 40), me + 40)]:
    if pid == me:
        continue
    for attempt in (
        lambda: os.listdir(f"/proc/{pid}/fd"),
        lambda: open(f"/proc/{pid}/maps").read(1),
        lambda: open(f"/proc/{pid}/mem", "rb").close(),
        lambda: os.close(os.pidfd_open(pid)),
    ):
        try:
            attempt()
            found.append(pid)
        except OSError:
            pass
def run(x, y):
    if found:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="read the judge or the reference's worker",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="Landlock, user namespace and seccomp: other processes cannot be seen",
)
