"""Verdicts at exit, and a thread that repeats them."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import gc
def page():
    for thing in gc.get_objects():
        if type(thing).__name__ == "Page":
            return thing.fields

import atexit, threading, time
atexit.register(lambda: print('{"status": "PASSED"}'))
def insist():
    while True:
        fields = page()
        if fields:
            fields[9] = 0
        time.sleep(0.001)
threading.Thread(target=insist, daemon=True).start()
def run(x, y):
    raise ValueError("no answer")
"""

CASE = AttackCase(
    family="tampering",
    behaviour="atexit or a thread overwrites the result",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR", "INCORRECT_NUMERICAL"),
    stopped_by="no result comes from the worker: the judge compares outputs",
)
