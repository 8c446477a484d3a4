"""Gives threads names that look like the kernel's own lines, and names that are no text."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, threading, time, torch
libc = ctypes.CDLL(None)
def idle(name):
    libc.prctl(15, name, 0, 0, 0)
    named.wait()
    while True:
        time.sleep(100)
named = threading.Barrier(4)
for name in (b"ctxt_switches:", bytes([255, 254]), b"x) R 1 (y"):
    threading.Thread(target=idle, args=(name,), daemon=True).start()
named.wait()
def run(x, y):
    pass
"""

CASE = AttackCase(
    family="tampering",
    behaviour="names of threads that the judge stumbles over",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="what the kernel says of a worker is read as bytes, whole lines",
)
