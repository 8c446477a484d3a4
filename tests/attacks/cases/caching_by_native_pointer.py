"""A map of pointers in C++."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
#include "solbench.h"
#include <map>
#include <vector>
#include <cstddef>
static std::map<const void*, std::vector<float>> answers;
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {
  const float* x = (const float*)inputs[0]->data;
  float* y = (float*)outputs[0]->data;
  auto& answer = answers[x];
  if (answer.empty()) for (int64_t i = 0; i < inputs[0]->shape[0]; ++i) answer.push_back(x[i] * 3.0f);
  for (std::size_t i = 0; i < answer.size(); ++i) y[i] = answer[i];
  return 0;
}
"""

CASE = AttackCase(
    family="caching",
    behaviour="cache in a C++ pointer map",
    problem=SCALE,
    attack=Submission(ATTACK, language="cpp"),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every timed call is compared",
)
