"""Sets timers that go off while it is stopped."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import ctypes, signal, torch
libc = ctypes.CDLL(None)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
timers = [ctypes.c_void_p() for _ in range(500)]
SPEC = (ctypes.c_long * 4)(0, 1, 0, 1)  # every nanosecond
for timer in timers:
    if not libc.timer_create(1, None, ctypes.byref(timer)):
        libc.timer_settime(timer, 0, SPEC, None)
signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="slow the baseline: timers",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="a signal that waits sets no timer anew",
)
