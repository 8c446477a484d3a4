"""Names a source as the folder is named in which the compiler finds SolBench's header."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
#include "solbench.h"
extern "C" int run(const DLTensor* const*, DLTensor* const*, const double*, void*) { return 0; }
"""

CASE = AttackCase(
    family="tampering",
    behaviour="sources named as the build's own files",
    problem=SCALE,
    attack=Submission(
        ATTACK,
        language="cpp",
        files={"_solbench": "", "include/solbench.h": "#error ours\n", "solution.so": "no object"},
    ),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="a build's own files lie beside the solution's, not among them",
)
