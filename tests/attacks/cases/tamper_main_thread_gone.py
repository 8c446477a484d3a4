"""Ends its main thread: ``/proc`` then shows the process without the memory that another thread hoards."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, platform, sys, threading, time, torch
libc = ctypes.CDLL(None)
calls, kept = [0], []

def serve_on(frame):
    # The shim's loop goes on in another thread: its variables are within reach.
    while frame.f_code.co_name != "serve":
        frame = frame.f_back
    fields, device = frame.f_locals["page"].fields, frame.f_locals["device"]
    time.sleep(0.2)  # the main thread is gone by then
    kept.extend(torch.ones(16 << 20) for _ in range(48))
    last = 0
    while True:
        while fields[0] == last:
            time.sleep(0.0001)
        last = fields[0]
        (device.arm if fields[1] == 4 else device.run)(fields[2], fields[3], fields[4])
        fields[9], fields[8] = 0, last

def run(x, y):
    torch.mul(x, 3.0, out=y)
    calls[0] += 1
    if calls[0] == 17:  # the jail is sealed
        threading.Thread(target=serve_on, args=(sys._getframe(),), daemon=True).start()
        libc.syscall(60 if platform.machine() == "x86_64" else 93, 0)  # of this thread alone
"""

CASE = AttackCase(
    family="tampering",
    behaviour="hoarding memory: out of the sight of whoever watches",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="the judge looks at the memory of every thread",
)
