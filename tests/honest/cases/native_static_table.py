"""A table that a static initialiser fills when the library is loaded."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOLUTION = r"""
#include "solbench.h"
struct Table {
  float factor[16];
  Table() { for (float& each : factor) each = 3.0f; }
};
static Table table;
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {
  const float* x = (const float*)inputs[0]->data;
  float* y = (float*)outputs[0]->data;
  for (int64_t i = 0; i < inputs[0]->shape[0]; ++i) y[i] = x[i] * table.factor[i % 16];
  return 0;
}
"""

CASE = HonestCase(
    "library constructor at load", SCALE, Submission(SOLUTION, language="cpp"), needs="g++"
)
