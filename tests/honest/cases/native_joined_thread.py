"""C++ that joins its thread."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
#include "solbench.h"
#include <thread>
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {
  const float* x = (const float*)inputs[0]->data;
  float* y = (float*)outputs[0]->data;
  int64_t n = inputs[0]->shape[0];
  std::thread half([=] { for (int64_t i = 0; i < n / 2; ++i) y[i] = x[i] * 3.0f; });
  for (int64_t i = n / 2; i < n; ++i) y[i] = x[i] * 3.0f;
  half.join();
  return 0;
}
"""

CASE = HonestCase(
    looks_like="a native thread left running",
    problem=SCALES,
    solution=Submission(SOURCE, language="cpp"),
    needs="g++",
)
