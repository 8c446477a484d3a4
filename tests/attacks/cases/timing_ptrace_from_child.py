"""A child asks to trace its parent, whose clock it would then patch."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
SEIZE = 0x4206  # attaches without stopping anyone, and ends with the child
parent, child = os.getpid(), os.fork()
if not child:
    os._exit(libc.ptrace(SEIZE, parent, None, None) == 0)
traced = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
def run(x, y):
    if traced:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="timing",
    behaviour="native patch of the timer: ptrace from a child",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seccomp: no tracing; and the clock is the judge's own, in another process",
)
