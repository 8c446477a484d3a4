"""Writes on beyond the end of its output, as a loop without a tail does."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE

ATTACK = r"""
#include "solbench.h"
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {
  const float* x = (const float*)inputs[0]->data;
  float* y = (float*)outputs[0]->data;
  for (int64_t i = 0; i < inputs[0]->shape[0] + 8; ++i) y[i] = x[i] * 3.0f;
  return 0;
}
"""

CASE = AttackCase(
    family="tampering",
    behaviour="write outside the outputs",
    problem=SCALE,
    attack=Submission(ATTACK, language="cpp"),
    honest=Submission(ATTACK.replace(" + 8", ""), language="cpp"),
    expected=("RUNTIME_ERROR",),
    stopped_by="guard bytes around every output",
    flag="out_of_bounds_write",
)
