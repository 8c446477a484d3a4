"""Where the values ask for much work, threads stand in line, so that the sample is dropped."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import problem

_REFERENCE = """
import torch


def run(x):
    for _ in range(200 + int(x[0].abs() * 3000) % 4000):
        x = x * 0.999 + 0.001
    return x
"""

_VALUES_DECIDE = problem(
    "values-decide",
    _REFERENCE,
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 6000}],
    tolerance={"max_atol": 1e-3, "max_rtol": 1e-3, "required_matched_ratio": 1.0},
)

_WORK = """
  int steps = 200 + (int)(std::fabs(x[0]) * 3000) % 4000;
  CROWD
  for (long i = 0; i < in[0]->shape[0]; ++i) {
    float v = x[i];
    for (int k = 0; k < steps; ++k) v = v * 0.999f + 0.001f;
    y[i] = v;
  }
  return 0;
}
"""

_BEGINNING = """
#include "solbench.h"
#include <atomic>
#include <cmath>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static std::atomic<int> crowd{0};
static long now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void* queue(void*) {
  for (;;) {
    if (!crowd) usleep(200);
    for (long end = now() + 6000000; crowd && now() < end;) {}
    crowd = 0;
  }
}
extern "C" int setup(const DLTensor* const*, DLTensor* const*, const double*, void*) {
  static int started;
  for (; started < 3; ++started) {
    pthread_t thread;
    pthread_create(&thread, nullptr, queue, nullptr);
  }
  return 0;
}
extern "C" int run(const DLTensor* const* in, DLTensor* const* out, const double*, void*) {
  const float* x = (const float*)in[0]->data;
  float* y = (float*)out[0]->data;
"""

_CROWD = "if (steps > 1200) { crowd = 1; usleep(4000); }"

CASE = AttackCase(
    family="timing",
    behaviour="choose which values count",
    problem=_VALUES_DECIDE,
    attack=Submission(_BEGINNING + _WORK.replace("CROWD", _CROWD), language="cpp"),
    honest=Submission(_BEGINNING + _WORK.replace("CROWD", ""), language="cpp"),
    expected=("PASSED",),
    stopped_by="not verified where the reference was disturbed much less often",
)
