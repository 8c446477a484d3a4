"""Signals and timers that would continue the stopped worker."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import os, signal, threading, time, torch
def ring():
    while True:
        for attempt in (
            lambda: os.kill(os.getpid(), signal.SIGCONT),
            lambda: os.kill(0, signal.SIGCONT),
            lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGCONT),
            lambda: signal.setitimer(signal.ITIMER_REAL, 0.001),
        ):
            try:
                attempt()
            except OSError:
                pass
        time.sleep(0.001)
signal.signal(signal.SIGALRM, lambda *a: None)
threading.Thread(target=ring, daemon=True).start()
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="work in the untimed gap: undo the stop",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="seccomp: no SIGCONT to oneself; switches while stopped are counted",
)
