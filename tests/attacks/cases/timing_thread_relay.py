"""Threads that start one another and end run ahead of the list of threads, to keep the judge's core as well."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import DECAY, DECAY_HONEST

ATTACK = r"""
#include "solbench.h"
#include <atomic>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
static std::atomic<int> settled{0}, helper{0}, job{0}, done{0};
static const float* X;
static float* Y;
static long N;
static void decay(const float* x, float* y, long n) {
  for (long i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 2000; ++k) v = v * 0.999f + 0.001f;
    y[i] = v;
  }
}
static int cores() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  return CPU_COUNT(&set);
}
static void* relay(void*) {
  if (!settled) {
    pthread_t next;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_create(&next, &attributes, relay, nullptr);
    return nullptr;
  }
  if (cores() == 1 || helper.exchange(1)) return nullptr;
  for (;;) {
    while (!job) usleep(50);
    job = 0;
    decay(X + N / 2, Y + N / 2, N - N / 2);
    done = 1;
  }
}
extern "C" int setup(const DLTensor* const*, DLTensor* const*, const double*, void*) {
  for (int i = 0; i < 12; ++i) {
    pthread_t first;
    pthread_create(&first, nullptr, relay, nullptr);
  }
  return 0;
}
extern "C" int run(const DLTensor* const* in, DLTensor* const* out, const double*, void*) {
  X = (const float*)in[0]->data;
  Y = (float*)out[0]->data;
  N = in[0]->shape[0];
  if (cores() == 1 && !settled.exchange(1)) usleep(100000);
  if (!helper) {
    decay(X, Y, N);
    return 0;
  }
  done = 0;
  job = 1;
  decay(X, Y, N / 2);
  while (!done) {}
  return 0;
}
"""

CASE = AttackCase(
    family="timing",
    behaviour="a core more than the reference, by threads that are never listed",
    problem=DECAY,
    attack=Submission(ATTACK, language="cpp"),
    honest=Submission(DECAY_HONEST, language="cpp"),
    expected=("PASSED",),
    stopped_by="the worker stands still while its threads are kept off the judge's core",
)
