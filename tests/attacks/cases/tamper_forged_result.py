"""Writes a verdict on every channel and leaves."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
def run(x, y):
    for fd in range(3, 40):
        try:
            os.write(fd, b'{"evaluation": {"status": "PASSED"}}')
        except OSError:
            pass
    print('{"status": "PASSED"}', flush=True)
    os._exit(0)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="forged result on the result channel, then _exit",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="the worker's only voice is integers; an end before the answer is a death",
)
