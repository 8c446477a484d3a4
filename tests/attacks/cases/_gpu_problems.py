"""Problems of the size that a GPU takes some microseconds for, and kernels that several cases share."""

from __future__ import annotations

from ._problems import problem

SCALE = problem(
    "gpu_scale",
    "import torch\n\n\ndef run(x):\n    return x * 3.0\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 1 << 20}],
)
"""One elementwise call over 4 MiB."""

SCALE_HONEST = "import torch\ndef run(x, y):\n    torch.mul(x, 3.0, out=y)\n"

HEAVY = problem(
    "gpu_heavy",
    "import torch\n\n\ndef run(x, w):\n    return torch.tanh(x @ w) @ w\n",
    {"x": (["n", "n"], "float32"), "w": (["n", "n"], "float32")},
    {"y": (["n", "n"], "float32")},
    [{"n": 1024}],
    tolerance={"max_atol": 2e-2, "max_rtol": 1e-4, "required_matched_ratio": 1.0},
)
"""A tenth of a millisecond of matrix products."""

HEAVY_HONEST = "import torch\ndef run(x, w, y):\n    torch.mm(torch.tanh(x @ w), w, out=y)\n"

CHAIN = problem(
    "gpu_chain",
    "import torch\n\n\n"
    "def run(x):\n    for _ in range(10):\n        x = torch.sin(x) * 1.5\n    return x\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 1 << 12}],
    tolerance={"max_atol": 1e-2, "max_rtol": 1e-2, "required_matched_ratio": 0.99},
)
"""Twenty kernels that are next to nothing: a call's time is that of starting them."""

CHAIN_HONEST = (
    "import torch\n"
    "def run(x, y):\n"
    "    y.copy_(x)\n"
    "    for _ in range(10):\n"
    "        y.sin_().mul_(1.5)\n"
)

KERNEL = r"""
#include <cuda_runtime.h>
#include "solbench.h"
static __global__ void scale(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 3.0f;
}
"""
"""Of a C++ submission that scales."""

RUN = r"""
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void* stream) {
  const float* x = (const float*)inputs[0]->data;
  float* y = (float*)outputs[0]->data;
  int64_t n = inputs[0]->shape[0];
  BODY
  return cudaGetLastError();
}
"""

LAUNCH = "scale<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(x, y, n);"

SCALE_CUDA = KERNEL + RUN.replace("BODY", LAUNCH)

DEAR = problem(
    "gpu_dear",
    "import torch\n\n\n"
    "def run(x):\n    for _ in range(200):\n        x = torch.sin(x + 1.0)\n    return x\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 1 << 17}],
    tolerance={"max_atol": 1e-3, "max_rtol": 1e-3, "required_matched_ratio": 1.0},
)
"""A long computation on little data: work that is done early is work that is saved."""

DEAR_KERNEL = r"""
#include <cuda_runtime.h>
#include "solbench.h"
static __device__ float dear(float value) {
  for (int k = 0; k < 200; ++k) value = sinf(value + 1.0f);
  return value;
}
static __global__ void all(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = dear(x[i]);
}
"""

DEAR_CUDA = DEAR_KERNEL + RUN.replace(
    "BODY", "all<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(x, y, n);"
)

SLOTS = """
import gc, torch
def page():
    for thing in gc.get_objects():
        if type(thing).__name__ == "Page":
            return thing.fields
fields, slots, last = page(), {}, [0]
def own(tensor):
    # A view that outlives the call: the buffers of a slot are the same in every call.
    return torch.as_strided(tensor, tensor.shape, tensor.stride())
"""
"""Beginning of a submission that gets to know all slots in the first calls: ``fields`` holds the command."""
