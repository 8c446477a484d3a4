"""A C++ file that includes files of the machine."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = r"""
#include "solbench.h"
__asm__(".section .rodata\nstolen: .incbin \"/etc/hostname\"\n");
extern "C" int run(const DLTensor* const*, DLTensor* const*, const double*, void*) { return 0; }
"""

CASE = AttackCase(
    family="tampering",
    behaviour="read files through the compiler",
    problem=SCALE,
    attack=Submission(ATTACK, language="cpp"),
    honest=Submission(SCALE_HONEST),
    expected=("COMPILE_ERROR",),
    stopped_by="the compiler is behind walls too",
)
