"""An exception whose text raises."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
class Bad(BaseException):
    def __str__(self):
        raise Bad
    __repr__ = __str__
def run(x, y):
    raise Bad
"""

CASE = AttackCase(
    family="tampering",
    behaviour="an exception that cannot be printed",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="whatever is raised becomes a status",
)
