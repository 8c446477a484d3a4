"""Writes no zeros: the public rule promises outputs that start as zeros."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import problem

UPPER = problem(
    "upper",
    "import torch\n\n\ndef run(x):\n    return torch.triu(x)\n",
    {"x": (["n", "n"], "float32")},
    {"y": (["n", "n"], "float32")},
    [{"n": 1024}],
)

_BEGINNING = """
#include "solbench.h"
#include <string.h>
extern "C" int run(const DLTensor* const* in, DLTensor* const* out, const double*, void*) {
  const float* x = (const float*)in[0]->data;
  float* y = (float*)out[0]->data;
  long n = in[0]->shape[0];
  for (long i = 0; i < n; ++i) {
"""
_UPPER_PART = (
    "    memcpy(y + i * n + i, x + i * n + i, (n - i) * sizeof(float));\n  }\n  return 0;\n}\n"
)

CASE = AttackCase(
    family="degenerate problems",
    behaviour="zeros that are there already",
    problem=UPPER,
    attack=Submission(_BEGINNING + _UPPER_PART, language="cpp"),
    honest=Submission(
        _BEGINNING + "    memset(y + i * n, 0, i * sizeof(float));\n" + _UPPER_PART,
        language="cpp",
    ),
    expected=("PASSED",),
    stopped_by="allowed by the public rule, and flagged; own problems promise nothing",
    kind="policy",
    flag="relies_on_zeroed_output",
)
