"""Is the graph that was analysed the program that was given? Two checks, of capture and of lifting.

The captured graph is replayed in float64 on the program's own inputs and compared with what the program gives;
of a program that is too large for that, one of smaller sizes with the same calls is. The lifted graph is
interpreted call by call on small instances (``_node_check``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from solbench.bound._demand import plain_flops
from solbench.bound._lift import LiftedGraph, lift
from solbench.bound._lifted import Map
from solbench.bound._node_check import NodeCheck, check_nodes
from solbench.bound._programs import Program
from solbench.bound._replay import replay
from solbench.bound.capture import run_program
from solbench.bound.graph import Graph
from solbench.errors import SolBenchError, VerificationError

LIMIT_BYTES = 1 << 29
"""Most bytes of all values together, in float64: a process that has torch loaded then stays below 2 GB."""

LIMIT_FLOPS = 1 << 32
"""Most FLOPs of its products: about a second of one core in float64."""

Smaller = Callable[[], Iterable[tuple[Program, Graph]]]
"""Makes the program at smaller sizes, with its graph, in ways that are tried in turn."""

_TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 2e-3,
    torch.bfloat16: 5e-2,
    torch.float16: 1e-2,
}
"""Relative to the largest element: the program rounds at every step, the replay does not."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and what was not."""

    nodes: NodeCheck
    not_replayed: str = ""
    """Why the whole program was not run; empty if it was, and agreed."""

    @property
    def verified(self) -> bool:
        """Every call of the lifted graph was interpreted, and agreed."""
        return self.nodes.complete

    @property
    def open_points(self) -> tuple[str, ...]:
        """What was not checked, each with the reason."""
        whole = (f"program not replayed: {self.not_replayed}",) if self.not_replayed else ()
        return (*whole, *self.nodes.skipped)


def verify_graph(program: Program, graph: Graph, smaller: Smaller | None = None) -> Verification:
    """Check a captured graph against its program, and its lifted form against its calls.

    ``smaller`` stands in for a program that is too large to be run.

    Raises
    ------
    VerificationError
        They differ; the message names the output, or the call whose rule is wrong.
    """
    lifted = lift(graph)
    nodes = check_nodes(lifted)
    obstacle = _obstacle(lifted)
    if not obstacle:
        obstacle = _compare(program, graph)
    elif smaller is not None and _agrees_smaller(graph, smaller()):
        obstacle = ""
    return Verification(nodes, obstacle)


def _agrees_smaller(graph: Graph, candidates: Iterable[tuple[Program, Graph]]) -> bool:
    """Whether the program with the same calls at smaller sizes was replayed, and agreed."""
    calls = [node.op for node in graph.nodes]
    for program, small in candidates:
        if calls == [node.op for node in small.nodes] and not _obstacle(lift(small)):
            return not _compare(program, small)
    return False


def _obstacle(lifted: LiftedGraph) -> str:
    """Why the program cannot be run for comparison."""
    graph = lifted.graph
    if 8 * sum(v.numel for v in graph.values.values()) > LIMIT_BYTES:
        return f"its values take more than {LIMIT_BYTES >> 20} MiB in float64"
    maps = (step.lifted for step in lifted.steps if isinstance(step.lifted, Map))
    if sum(plain_flops(item) for item in maps) > LIMIT_FLOPS:
        return f"its products take more than {LIMIT_FLOPS / 1e9:.0f} GFLOP"
    return "it draws random numbers" if _draws(graph) else ""


def _compare(program: Program, graph: Graph) -> str:
    """Why they were not compared; empty if they were, and agree.

    The graph is interpreted in float64 first; where that differs (a rounding decided a branch or an index) or
    is refused (a call that takes its own formats only), once more in the program's formats.
    """
    try:
        run = run_program(program)
    except SolBenchError:
        raise
    except Exception as error:  # noqa: BLE001 - a reference may raise anything
        return f"it fails on these inputs: {_line(error)}"
    expected = dict(run.outputs)
    problems, refused = [], ""
    for float64 in (True, False):
        try:
            found = replay(graph, run.inputs, float64=float64)
        except (RuntimeError, ValueError) as error:
            refused = f"a call refuses to be replayed: {_line(error)}"
            continue
        wrong = [n for n, t in found if n in expected and not _close(t, expected[n])]
        if not wrong:
            return ""
        problems.append(", ".join(wrong))
    if not problems:
        return refused
    raise VerificationError(
        f"{program.name}: the captured graph and the reference differ in {problems[-1]}"
    )


def _line(error: Exception) -> str:
    """The first line of what an exception says."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"


def _draws(graph: Graph) -> bool:
    """Random numbers inside the program differ between two runs."""
    words = ("rand", "bernoulli", "dropout", "multinomial", "normal_", "uniform_", "exponential_")
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
