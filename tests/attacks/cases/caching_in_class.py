"""A class attribute keeps the answer."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
class Kernel:
    answers = {}
    def __call__(self, x, y):
        y.copy_(self.answers.setdefault(len(x), x * 3.0))
run = Kernel()
def run(x, y, kernel=Kernel()):
    kernel(x, y)
"""

CASE = AttackCase(
    family="caching",
    behaviour="cache in class attributes",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "COMPILE_ERROR"),
    stopped_by="fresh values each call; every timed call is compared",
)
