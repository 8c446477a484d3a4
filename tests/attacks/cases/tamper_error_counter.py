"""Fails, while a thread keeps the page's status at zero."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import gc, threading, time
(fields,) = [thing.fields for thing in gc.get_objects() if type(thing).__name__ == "Page"]
def clear():
    while True:
        fields[9] = 0
        time.sleep(0)
threading.Thread(target=clear, daemon=True).start()
def run(x, y):
    time.sleep(0.001)
    raise ValueError("never heard of")
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="zero the error counter",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "RUNTIME_ERROR"),
    stopped_by="a status excuses nothing: outputs are compared",
)
