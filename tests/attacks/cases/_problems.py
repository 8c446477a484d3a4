"""Small problems that several cases share. Tolerances are tight where a case is not about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solbench.spec import Definition, Problem, Workload, make_problem

Tensor = tuple[list[str] | None, str]
"""Shape (``None`` for a scalar) and dtype."""


def problem(
    name: str,
    reference: str,
    inputs: Mapping[str, Tensor],
    outputs: Mapping[str, Tensor],
    sizes: list[dict[str, int]],
    *,
    scalars: Mapping[str, float] | None = None,
    custom: tuple[str, ...] = (),
    tolerance: Mapping[str, Any] | None = None,
    own: Mapping[str, Any] | None = None,
) -> Problem:
    """A problem with one workload for each of ``sizes``. ``custom`` inputs come from
    ``make_inputs`` in the reference. ``own``: it is judged by our rule, which knows error budgets."""
    definition: dict[str, Any] = {
        "name": name,
        "axes": {axis: {"type": "var"} for axis in sizes[0]},
        "inputs": {key: {"shape": shape, "dtype": dtype} for key, (shape, dtype) in inputs.items()},
        "outputs": {
            key: {"shape": shape, "dtype": dtype} for key, (shape, dtype) in outputs.items()
        },
        "reference": reference,
    }
    if custom:
        definition["custom_inputs_entrypoint"] = "make_inputs"
    if own is not None:
        definition["solbench"] = {"tier": "L1", "direction": "forward", **own}
    described = {key: {"type": "scalar", "value": value} for key, value in (scalars or {}).items()}
    described |= {key: {"type": "custom"} for key in custom}
    limits = {"max_atol": 1e-5, "max_rtol": 1e-5, "required_matched_ratio": 1.0}
    workloads = [
        Workload.model_validate(
            {
                "uuid": f"{name}-{number}",
                "axes": axes,
                "inputs": described,
                "tolerance": tolerance or limits,
            }
        )
        for number, axes in enumerate(sizes)
    ]
    return make_problem(Definition.model_validate(definition), workloads)


SCALE = problem(
    "scale",
    "import torch\n\n\ndef run(x):\n    return x * 3.0\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 1000}],
)
"""One small elementwise call."""

SCALE_HONEST = "import torch\ndef run(x, y):\n    torch.mul(x, 3.0, out=y)\n"

SCALES = problem(
    "scales",
    "import torch\n\n\ndef run(x):\n    return x * 3.0\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 1000}, {"n": 1001}, {"n": 70_000}],
)
"""The same on three sizes."""

HEAVY = problem(
    "heavy",
    "import torch\n\n\ndef run(x, w):\n    return torch.tanh(x @ w) @ w\n",
    {"x": (["n", "n"], "float32"), "w": (["n", "n"], "float32")},
    {"y": (["n", "n"], "float32")},
    [{"n": 512}],
    tolerance={"max_atol": 1e-2, "max_rtol": 1e-4, "required_matched_ratio": 1.0},
)
"""Ten milliseconds of matrix products: a cheat's gain would be plain to see."""

HEAVY_HONEST = "import torch\ndef run(x, w, y):\n    torch.mm(torch.tanh(x @ w), w, out=y)\n"

_DEAR = (
    "    h = x\n    for _ in range(8):\n        h = torch.tanh(h @ x)\n    s = h.sum(dim=1)[:4]\n"
)

STATISTIC = problem(
    "statistic",
    f"import torch\n\n\ndef run(x):\n{_DEAR}    return x + 1.0, s\n",
    {"x": (["n", "n"], "float32")},
    {"y": (["n", "n"], "float32"), "s": (["k"], "float32")},
    [{"n": 512, "k": 4}],
    tolerance={"max_atol": 1.0, "max_rtol": 1e-2, "required_matched_ratio": 1.0},
)
"""A large output that is cheap beside a tiny one that is dear."""

STATISTIC_HONEST = (
    "import torch\ndef run(x, y, s_out):\n    torch.add(x, 1.0, out=y)\n"
    f"{_DEAR}    s_out.copy_(s)\n"
)

CHAIN = problem(
    "chain",
    "import torch\n\n\n"
    "def run(x):\n    for _ in range(160):\n        x = torch.sin(x) * 1.5\n    return x\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 256}],
    tolerance={"max_atol": 1e-2, "max_rtol": 1e-2, "required_matched_ratio": 0.99},
)
"""Eighty small calls of the library: nearly all of the time is what a call costs."""

CHAIN_HONEST = (
    "import torch\n"
    "def run(x, y):\n"
    "    y.copy_(x)\n"
    "    for _ in range(160):\n"
    "        y.sin_().mul_(1.5)\n"
)

_SOFTMAX = "import torch\n\n\ndef run(x):\n    return torch.softmax(x, dim=-1)\n"
_LARGE_INPUTS = (
    "\n\ndef make_inputs(axes, device):\n"
    "    return {'x': torch.randn(axes['m'], axes['n'], device=device) * 200.0}\n"
)

SOFTMAX = problem(
    "softmax",
    _SOFTMAX,
    {"x": (["m", "n"], "float32")},
    {"y": (["m", "n"], "float32")},
    [{"m": 64, "n": 512}],
)

SOFTMAX_LARGE = problem(
    "softmax",
    _SOFTMAX + _LARGE_INPUTS,
    {"x": (["m", "n"], "float32")},
    {"y": (["m", "n"], "float32")},
    [{"m": 64, "n": 512}],
    custom=("x",),
)
"""The same on inputs two hundred times as large, where the exponential overflows."""

SOFTMAX_HONEST = "import torch\ndef run(x, y):\n    torch.softmax(x, dim=-1, out=y)\n"

WEAK = problem(
    "weak",
    "import torch\n\n\ndef run(x):\n    return x * 1e-3\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 4000}],
    tolerance={"max_atol": 1e-2, "max_rtol": 1e-2},
)
"""Its outputs are all within its tolerance of nothing."""

LENIENT = problem(
    "lenient",
    "import torch\n\n\ndef run(x):\n    return x * 3.0\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 4000}],
    tolerance={"max_atol": 1e-5, "max_rtol": 1e-5, "required_matched_ratio": 0.99},
)

CONSTANT = problem(
    "constant",
    "import torch\n\n\n"
    "def run(x):\n"
    "    return torch.softmax(x[None].expand(64, -1), dim=-1).sum(dim=-1)\n",
    {"x": (["n"], "float32")},
    {"y": (["m"], "float32")},
    [{"n": 512, "m": 64}],
)
"""Its output is one, whatever goes in."""

_EXPONENTIALS = "    for k in range(1, 13):\n        y += torch.exp(x / k)\n"

GROWTH = problem(
    "growth",
    f"import torch\n\n\ndef run(x):\n    y = torch.zeros_like(x)\n{_EXPONENTIALS}    return y\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 1 << 20}],
)
"""Twenty times slower on numbers whose exponentials overflow."""

GROWTH_HONEST = f"import torch\ndef run(x, y):\n    y.zero_()\n{_EXPONENTIALS}"

PADDED = problem(
    "padded",
    "import torch\n\n\ndef run(x):\n    return torch.cat([x * 3.0, torch.ones_like(x)])\n",
    {"x": (["n"], "float32")},
    {"y": (["m"], "float32")},
    [{"n": 1000, "m": 2000}],
)
"""Half of its output never changes."""

PADDED_HONEST = (
    "import torch\ndef run(x, y):\n    torch.mul(x, 3.0, out=y[: len(x)])\n    y[len(x) :] = 1.0\n"
)

ROOT = problem(
    "root",
    "import torch\n\n\ndef run(x):\n    return torch.rsqrt(x * x + 1.0)\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 4000}],
)

ROOT_HONEST = "import torch\ndef run(x, y):\n    torch.rsqrt(x * x + 1.0, out=y)\n"

ROUGH = problem(
    "rough",
    "import torch\n\n\ndef run(x):\n    return x * 3.0\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 4000}],
    tolerance={"max_atol": 1e-2, "max_rtol": 1e-2},
)
"""The public default tolerance."""

_ADD_PRODUCT = "import torch\n\n\ndef run(x, w):\n    return x + x @ w\n"


def _weights(name: str, value: str) -> Problem:
    makes = (
        "\n\ndef make_inputs(axes, device):\n"
        f"    return {{'w': {value} * torch.ones(axes['n'], axes['n'], device=device)}}\n"
    )
    return problem(
        name,
        _ADD_PRODUCT + makes,
        {"x": (["n", "n"], "float32"), "w": (["n", "n"], "float32")},
        {"y": (["n", "n"], "float32")},
        [{"n": 256}],
        custom=("w",),
    )


ZERO_WEIGHTS = _weights("zero_weights", "0.0")
ZERO_WEIGHTS_HELD_OUT = _weights("zero_weights", "0.1")
ZERO_WEIGHTS_HONEST = "import torch\ndef run(x, w, y):\n    torch.add(x, x @ w, out=y)\n"


def _masked(shape: str) -> Problem:
    makes = (
        "\n\ndef make_inputs(axes, device):\n"
        "    full = torch.ones(axes['n'], axes['n'], dtype=torch.bool, device=device)\n"
        f"    return {{'mask': {shape}}}\n"
    )
    return problem(
        "masked",
        "import torch\n\n\ndef run(x, mask):\n    return mask.float() @ x\n" + makes,
        {"x": (["n", "d"], "float32"), "mask": (["n", "n"], "bool")},
        {"y": (["n", "d"], "float32")},
        [{"n": 256, "d": 32}],
        custom=("mask",),
        tolerance={"max_atol": 1e-3, "max_rtol": 1e-3, "required_matched_ratio": 1.0},
    )


MASKED = _masked("full.tril()")
MASKED_HELD_OUT = _masked("full.triu()")
MASKED_HONEST = "import torch\ndef run(x, mask, y):\n    torch.mm(mask.float(), x, out=y)\n"

CACHED = problem(
    "cached",
    "import torch\n\n\ndef run(x, cache):\n    return x * 2.0 + cache.sum(dim=0)\n",
    {"x": (["d"], "float32"), "cache": (["n", "d"], "float32")},
    {"y": (["d"], "float32")},
    [{"d": 64, "n": 100}],
    tolerance={"max_atol": 1e-3, "max_rtol": 1e-3, "required_matched_ratio": 1.0},
)

CACHED_HONEST = (
    "import torch\ndef run(x, cache, y):\n    torch.add(x * 2.0, cache.sum(dim=0), out=y)\n"
)

CANCELLING = problem(
    "cancelling",
    "import torch\n\n\ndef run(x, w):\n    return x + (x @ w - x @ w)\n",
    {"x": (["n", "n"], "float32"), "w": (["n", "n"], "float32")},
    {"y": (["n", "n"], "float32")},
    [{"n": 1024}],
)
"""Its products are dear and cancel."""

CANCELLING_HONEST = "import torch\ndef run(x, w, y):\n    torch.add(x, x @ w - x @ w, out=y)\n"

WEAK_HONEST = "import torch\ndef run(x, y):\n    torch.mul(x, 1e-3, out=y)\n"


SPREAD = problem(
    "spread",
    "import torch\n\n\ndef run(x):\n    return torch.softmax(x * 3.0, dim=-1)\n",
    {"x": (["m", "n"], "bfloat16")},
    {"y": (["m", "n"], "bfloat16")},
    [{"m": 64, "n": 256}],
    own={},
)
"""By our own rule, and its values spread over orders of magnitude."""

SPREAD_HONEST = "import torch\ndef run(x, y):\n    torch.softmax(x * 3.0, dim=-1, out=y)\n"

PROJECTION = problem(
    "projection",
    "import torch\n\n\ndef run(x, w):\n    return x @ w\n",
    {"x": (["m", "n"], "float32"), "w": (["n", "n"], "float32")},
    {"y": (["m", "n"], "float32")},
    [{"m": 64, "n": 128}],
    own={
        "weights": ["w"],
        "policy": {"prepacked_weights": True},
        "variations": {"scale": ["x"], "outliers": ["x"]},
    },
)
"""By our own rule: weights may be prepacked, and some calls have other values than the usual."""

PROJECTION_HONEST = "import torch\ndef run(x, w, y):\n    torch.mm(x, w, out=y)\n"

DECAY = problem(
    "decay",
    "import torch\n\n\n"
    "def run(x):\n    for _ in range(2000):\n        x = x * 0.999 + 0.001\n    return x\n",
    {"x": (["n"], "float32")},
    {"y": (["n"], "float32")},
    [{"n": 20_000}],
    tolerance={"max_atol": 1e-3, "max_rtol": 1e-3, "required_matched_ratio": 1.0},
)
"""Tens of milliseconds of one chain of operations an element, which a second core would halve."""

DECAY_HONEST = r"""
#include "solbench.h"
extern "C" int run(const DLTensor* const* in, DLTensor* const* out, const double*, void*) {
  const float* x = (const float*)in[0]->data;
  float* y = (float*)out[0]->data;
  for (long i = 0; i < in[0]->shape[0]; ++i) {
    float v = x[i];
    for (int k = 0; k < 2000; ++k) v = v * 0.999f + 0.001f;
    y[i] = v;
  }
  return 0;
}
"""
