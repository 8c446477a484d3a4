"""Compiled so that the compiler may reorder and drop operations."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import ROOT

SOURCE = r"""
#include <math.h>
#include "solbench.h"
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {
  const float* x = (const float*)inputs[0]->data;
  float* y = (float*)outputs[0]->data;
  for (int64_t i = 0; i < inputs[0]->shape[0]; ++i) y[i] = 1.0f / sqrtf(x[i] * x[i] + 1.0f);
  return 0;
}
"""

CASE = AttackCase(
    family="precision",
    behaviour="fast-math",
    problem=ROOT,
    attack=Submission(SOURCE, language="cpp", compiler_flags=("-ffast-math",)),
    honest=Submission(SOURCE, language="cpp"),
    expected=("PASSED", "INCORRECT_NUMERICAL"),
    stopped_by="allowed as far as the problem's tolerance goes",
    kind="policy",
)
