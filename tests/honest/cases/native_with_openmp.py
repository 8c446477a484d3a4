"""C++ whose loop is split by OpenMP."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
#include "solbench.h"
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {
  const float* x = (const float*)inputs[0]->data;
  float* y = (float*)outputs[0]->data;
#pragma omp parallel for
  for (int64_t i = 0; i < inputs[0]->shape[0]; ++i) y[i] = x[i] * 3.0f;
  return 0;
}
"""

CASE = HonestCase(
    looks_like="threads left running",
    problem=SCALES,
    solution=Submission(SOURCE, language="cpp"),
    needs="g++",
)
