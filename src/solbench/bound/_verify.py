"""Is the graph that was analysed the program that was given? Run both and compare."""

from __future__ import annotations

import torch

from solbench.bound._programs import Program
from solbench.bound._replay import replay
from solbench.bound.capture import run_program
from solbench.bound.graph import Graph
from solbench.errors import VerificationError

LIMIT_BYTES = 2 << 30
"""Most bytes of all values together, in float64; larger programs stay unverified."""

_TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 2e-3,
    torch.bfloat16: 5e-2,
    torch.float16: 1e-2,
}
"""Relative to the largest element: the program rounds at every step, the replay does not."""


def verify_graph(program: Program, graph: Graph) -> bool:
    """Whether the graph gives what the program gives on random inputs; ``False`` if it is too large to run.

    The graph is interpreted in float64 first; where that differs (a rounding decided a branch or an index),
    once more in the program's own formats. Raises ``VerificationError`` if both differ.
    """
    if 8 * sum(v.numel for v in graph.values.values()) > LIMIT_BYTES:
        return False
    if _draws(graph):
        return False
    run = run_program(program)
    expected = dict(run.outputs)
    problems = []
    for float64 in (True, False):
        found = replay(graph, run.inputs, float64=float64)
        wrong = [n for n, t in found if n in expected and not _close(t, expected[n])]
        if not wrong:
            return True
        problems.append(", ".join(wrong))
    raise VerificationError(
        f"{program.name}: the captured graph and the reference differ in {problems[-1]}"
    )


def _draws(graph: Graph) -> bool:
    """Random numbers inside the program differ between two runs."""
    words = ("rand", "bernoulli", "dropout", "multinomial", "normal_", "uniform_")
    return any(w in n.op and "batch_norm" not in n.op for n in graph.nodes for w in words)


def _close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    if found.shape != expected.shape:
        return False
    if not expected.dtype.is_floating_point:
        return bool(torch.equal(found.to(expected.dtype), expected))
    tolerance = _TOLERANCE.get(expected.dtype, 0.13)  # fp8: one step of three mantissa bits
    left, right = found.double(), expected.double()
    finite = torch.isfinite(right)
    scale = float(right[finite].abs().max()) if bool(finite.any()) else 0.0
    same = torch.isfinite(left) == finite
    near = (left - right).abs() <= tolerance * max(scale, 1e-30)
    return bool((same & (near | ~finite)).all())
