"""Sources over which a careless pattern, or parser, would stay for hours before anything is built."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

_SIZE = 900_000
ATTACK = "def run(x, y):\n    pass\n" + "\n" * _SIZE

CASE = AttackCase(
    family="tampering",
    behaviour="sources that take long to read",
    problem=SCALE,
    attack=Submission(
        ATTACK,
        files={
            "strings.cpp": 'R"(' * (_SIZE // 3),
            "kernels.cu": "__global__ void f(){" * (_SIZE // 20),
            "counters.cpp": "".join(f"static int x{each};" for each in range(_SIZE // 17)),
            "inner.py": "x = [" + "'#include'," * (_SIZE // 11) + "]\n",
            "formatted.py": "x = f'" + "{a}" * (_SIZE // 3) + "'\n",
        },
    ),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="whatever reads sources takes time in proportion to their length",
)
