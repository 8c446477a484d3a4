"""Puts files of its own in place of the buffers."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, torch
calls, answers = [0], {}
def replace(word):
    for name in os.listdir("/proc/self/fd"):
        try:
            if word in os.readlink(f"/proc/self/fd/{name}"):
                size = os.fstat(int(name)).st_size
                fd = os.open(f"own-{name}", os.O_RDWR | os.O_CREAT)
                os.ftruncate(fd, size)
                os.dup2(fd, int(name))
        except OSError:
            pass
def run(x, y):
    calls[0] += 1
    if calls[0] == 16:
        replace("inputs")
    if x.any():
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="dup2 tricks on the channel",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "RUNTIME_ERROR"),
    stopped_by="the judge has mappings of its own",
)
