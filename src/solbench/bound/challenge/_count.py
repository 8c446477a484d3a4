"""A second opinion on a tiny program: what a plain kernel needs, counted without the rules of the bound.

The captured graph is run on real numbers under autograd. An element of an input is needed if a gradient reaches
it, a multiply-add if a gradient reaches its product and the product is not zero. Several draws are united, so
that a ReLU that happens to be closed hides nothing. What gradients cannot see (comparisons, indices, integers)
counts whole. The count is therefore an amount that some correct kernel manages with: a bound above it is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from solbench.bound._programs import Program
from solbench.bound._replay import call_node
from solbench.bound._result import Demand
from solbench.bound.capture import run_program
from solbench.bound.graph import ABSENT, Graph, Node

MOST_DRAWS, QUIET_DRAWS = 32, 6
"""Draws at most, and how many in a row must add nothing: a ReLU hides half of what it sees in each."""
SCALES = (1.0, 0.25, 0.0625)
"""Of the draws in turn: a tanh of large numbers has no gradient left."""
MOST_PRODUCTS = 1 << 18
"""Multiply-adds spelled out at most, of one call."""
_CHOOSING = """max min amax amin maximum minimum fmax fmin topk sort argsort median kthvalue mode cummax
    cummin clamp clamp_min clamp_max hardtanh hardsigmoid hardshrink threshold heaviside where round floor ceil
    trunc sign fmod remainder floor_divide aminmax searchsorted bucketize"""
_SELECTIONS = frozenset(_CHOOSING.split())
_RANDOM_OR_POOLED = (
    "max_pool",
    "attention",
    "dropout",
    "rand",
    "bernoulli",
    "normal_",
    "uniform_",
    "multinomial",
)
"""A gradient goes to the element that was chosen, though any could have been."""
_SHAPE_ONLY = ("zeros", "ones", "full", "empty", "rand", "arange", "new_", "_like", "sym_size")
"""Results that read no values, so that no gradient is missing."""


@dataclass(frozen=True, slots=True)
class Count:
    """What a kernel needs that reads every needed element once and does every needed product once."""

    read_bytes: int
    write_bytes: int
    macs: int | None
    """``None``: a contraction is of a form that is not spelled out here."""
    whole: tuple[str, ...] = ()
    """Operations for which gradients say nothing, so that all inputs count whole."""


@dataclass(frozen=True, slots=True)
class Excess:
    """Where the bound asks for more than the count."""

    resource: str
    """``dram`` in bytes, or ``matrix`` in FLOPs."""
    bound: int
    counted: int


@dataclass(slots=True)
class _Draw:
    """One execution: leaves and products whose gradients are asked for."""

    graph: Graph
    held: dict[int, torch.Tensor]
    products: list[torch.Tensor] = field(default_factory=list)
    blind: list[str] = field(default_factory=list)
    skipped: bool = False


class _TooLarge(Exception):
    """Too many multiply-adds to spell out."""


def excess(demand: Demand, count: Count, tolerance: float = 0.02) -> Excess | None:
    """The resource of which the bound counts more, if there is one; memory first."""
    moved, needed = (
        demand.dram_read_bytes + demand.dram_write_bytes,
        count.read_bytes + count.write_bytes,
    )
    if moved > needed * (1 + tolerance):
        return Excess("dram", moved, needed)
    flops = sum(demand.matrix_flops.values())
    if count.macs is not None and flops > 2 * count.macs * (1 + tolerance):
        return Excess("matrix", flops, 2 * count.macs)
    return None


def count_work(program: Program, graph: Graph, demand: Demand) -> Count:
    """Run the graph on several draws and unite what gradients reach."""
    run = run_program(program)
    given = {
        graph.inputs[name]: tensor for name, tensor in run.inputs.items() if name in graph.inputs
    }
    reached: dict[int, torch.Tensor] = {}
    used: list[torch.Tensor] = []
    first = _execute(graph, _drawn(given, 0))
    blind = tuple(dict.fromkeys(first.blind))
    if not blind:
        _reach(graph, given, first, reached, used)
    spelled = all(not n.matrix_flops or n.op in _PRODUCTS for n in demand.nodes)
    macs = None
    if spelled and not first.skipped:
        done = (p.numel() for p in first.products) if blind else (int(u.sum()) for u in used)
        macs = sum(done)
    outputs = (first.held[value] for _, value in graph.outputs)
    return Count(
        read_bytes=sum(_needed_bytes(v, t, reached, bool(blind)) for v, t in given.items()),
        write_bytes=sum(t.numel() * t.element_size() for t in outputs),
        macs=macs,
        whole=blind,
    )


def _reach(
    graph: Graph, given: Mapping[int, torch.Tensor], first: _Draw,
    reached: dict[int, torch.Tensor], used: list[torch.Tensor],
) -> None:  # fmt: skip
    """Unite draws until some in a row add nothing."""
    _unite(first, reached, used)
    quiet = 0
    for number in range(1, MOST_DRAWS):
        before = _total(reached, used)
        _unite(_execute(graph, _drawn(given, number)), reached, used)
        quiet = quiet + 1 if _total(reached, used) == before else 0
        if quiet == QUIET_DRAWS:
            return


def _total(reached: Mapping[int, torch.Tensor], used: Sequence[torch.Tensor]) -> int:
    return sum(int(t.sum()) for t in (*reached.values(), *used))


def _drawn(given: Mapping[int, torch.Tensor], number: int) -> dict[int, torch.Tensor]:
    """The inputs' own contents first, then others of the same kind; integers stay."""
    generator = torch.Generator().manual_seed(number)
    result = {}
    for value, tensor in given.items():
        if number and _differentiable(tensor):
            noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float32)
            result[value] = (noise * SCALES[number % len(SCALES)]).to(tensor.dtype)
        else:
            result[value] = tensor.detach().clone()
    return result


def _differentiable(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point and tensor.element_size() > 1


def _execute(graph: Graph, inputs: Mapping[int, torch.Tensor]) -> _Draw:
    draw = _Draw(graph, dict(inputs))
    for value, tensor in inputs.items():
        if _differentiable(tensor):
            draw.held[value] = tensor.requires_grad_()
    draw.held |= {value: tensor.detach() for value, tensor in graph.constants.items()}
    with torch.enable_grad():
        for node in graph.nodes:
            for out, result in zip(node.outputs, _call(node, draw), strict=True):
                if out != ABSENT and result is not None:
                    draw.held[out] = result
    return draw


def _call(node: Node, draw: _Draw) -> tuple[torch.Tensor | None, ...]:
    if node.op in _SOFTMAXES:
        scores = draw.held[node.args["self"].id]
        return (_unnormalised(node, scores),)
    if node.op in _PRODUCTS and not draw.skipped:
        try:
            return (_PRODUCTS[node.op](node, draw),)
        except _TooLarge:
            draw.skipped = True
    results = call_node(node, draw.held.__getitem__, draw.graph.values)
    reads = any(draw.held[ref].requires_grad for ref in node.refs() if ref in draw.held)
    shape_only = any(part in node.op for part in _SHAPE_ONLY)
    stopped = not shape_only and any(t is not None and not t.requires_grad for t in results)
    if reads and (stopped or _selects(node.op)):
        draw.blind.append(node.op)
    return results


def _selects(op: str) -> bool:
    name = op.split(".")[1].rstrip("_")
    return name in _SELECTIONS or any(part in name for part in _RANDOM_OR_POOLED)


def _unite(draw: _Draw, reached: dict[int, torch.Tensor], used: list[torch.Tensor]) -> None:
    """Add what the gradients of this draw reach."""
    outputs = [draw.held[v] for _, v in draw.graph.outputs]
    leaves = {v: t for v, t in draw.held.items() if t.is_leaf and t.requires_grad}
    total = sum(
        (o.to(torch.float64) * torch.randn(o.shape, dtype=torch.float64)).sum()
        for o in outputs
        if o.requires_grad
    )
    wanted = [*leaves.values(), *(p for p in draw.products if p.requires_grad)]
    gradients: Sequence[torch.Tensor | None] = [None] * len(wanted)
    if isinstance(total, torch.Tensor) and wanted:
        gradients = torch.autograd.grad(total, wanted, allow_unused=True)
    by_id = {id(t): g for t, g in zip(wanted, gradients, strict=True)}
    for value, tensor in leaves.items():
        own = _nonzero(by_id[id(tensor)], tensor)
        reached[value] = reached[value] | own if value in reached else own
    for index, product in enumerate(draw.products):
        done = product.detach() != 0
        if product.requires_grad:  # not so for products of eight-bit floats: all of them count
            done &= _nonzero(by_id.get(id(product)), product)
        if index < len(used):
            used[index] = used[index] | done
        else:
            used.append(done)


def _nonzero(gradient: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    """A gradient that is not a number may be anything, so it counts as one."""
    if gradient is None:
        return torch.zeros(like.shape, dtype=torch.bool)
    return gradient != 0


def _needed_bytes(
    value: int, tensor: torch.Tensor, reached: Mapping[int, torch.Tensor], whole: bool
) -> int:
    if whole or not _differentiable(tensor):
        return tensor.numel() * tensor.element_size()
    return int(reached[value].sum()) * tensor.element_size() if value in reached else 0


_SOFTMAXES = ("aten._softmax.default", "aten._safe_softmax.default", "aten._log_softmax.default")


def _unnormalised(node: Node, scores: torch.Tensor) -> torch.Tensor:
    """Without the division by the sum: the only element of a line has weight 1 whatever it is, and that corner
    (the first row of a causal mask) would hide every other mistake at small sizes."""
    if "log" in node.op:
        return scores * 1
    largest = scores.detach().amax(dim=node.args["dim"], keepdim=True)
    return torch.exp(scores - torch.where(torch.isfinite(largest), largest, 0.0))


# ---- products, spelled out ----


def _multiplied(left: torch.Tensor, right: torch.Tensor, draw: _Draw) -> torch.Tensor:
    """As ``torch.matmul``, with every single product a value that a gradient can reach."""
    vector_left, vector_right = left.dim() == 1, right.dim() == 1
    left = left.unsqueeze(0) if vector_left else left
    right = right.unsqueeze(-1) if vector_right else right
    products = left.unsqueeze(-1) * right.unsqueeze(-3)
    if products.numel() > MOST_PRODUCTS:
        raise _TooLarge
    draw.products.append(products)
    out = products.sum(-2)
    out = out.squeeze(-2) if vector_left else out
    return out.squeeze(-1) if vector_right else out


def _plain(*names: str) -> Callable[[Node, _Draw], torch.Tensor]:
    def call(node: Node, draw: _Draw) -> torch.Tensor:
        left, right = (draw.held[node.args[name].id] for name in names)
        return _multiplied(left, right, draw)

    return call


def _added(names: Sequence[str]) -> Callable[[Node, _Draw], torch.Tensor]:
    def call(node: Node, draw: _Draw) -> torch.Tensor:
        addend, left, right = (draw.held[node.args[name].id] for name in names)
        beta, alpha = float(node.args["beta"]), float(node.args["alpha"])
        return addend * beta + _multiplied(left, right, draw) * alpha

    return call


def _linear(node: Node, draw: _Draw) -> torch.Tensor:
    x, weight = draw.held[node.args["input"].id], draw.held[node.args["weight"].id]
    out = _multiplied(x, weight.transpose(-1, -2), draw)
    bias = node.args.get("bias")
    return out if bias is None else out + draw.held[bias.id]


_PRODUCTS: dict[str, Callable[[Node, _Draw], torch.Tensor]] = {
    "aten.mm.default": _plain("self", "mat2"),
    "aten.bmm.default": _plain("self", "mat2"),
    "aten.mv.default": _plain("self", "vec"),
    "aten.matmul.default": _plain("self", "other"),
    "aten.addmm.default": _added(("self", "mat1", "mat2")),
    "aten.baddbmm.default": _added(("self", "batch1", "batch2")),
    "aten.linear.default": _linear,
}
