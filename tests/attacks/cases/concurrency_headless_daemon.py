"""Starts a process whose main thread ends at once: it looks dead, and its other thread computes in the gap."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, os, platform, threading, time, torch
libc = ctypes.CDLL(None)
calls, pairs = [0], []
def serve():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for x, y in pairs:
            if y[-1] == 0:  # made ready for a call, to its end
                torch.mul(x, 3.0, out=y)
        time.sleep(0.0005)
    os._exit(0)
def run(x, y):
    calls[0] += 1
    if calls[0] > 16:  # the jail is sealed: now the daemon works, if it lives
        end = time.perf_counter() + 0.4
        while y[-1] != x[-1] * 3.0 and time.perf_counter() < end:
            time.sleep(0.0002)
        return
    torch.mul(x, 3.0, out=y)
    pairs.append((x, y))
    if calls[0] != 16:
        return
    if os.fork():  # the last slot is met
        time.sleep(0.3)  # let it come to look dead
    else:
        threading.Thread(target=serve).start()
        libc.syscall(60 if platform.machine() == "x86_64" else 93, 0)  # of this thread alone
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="a process that looks dead, started before the seal, that keeps computing",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="a process is alive while any of its threads is: it is ended before the seal",
)
