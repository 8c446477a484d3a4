"""Where a captured program multiplies: which calls, which arguments, and which dimensions are summed."""

from __future__ import annotations

from dataclasses import dataclass

from solbench.bound.graph import Graph, Node, Ref

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """Operands of one product."""

    position: int
    """Of the call that reads them."""
    operands: tuple[tuple[int, Dims], ...]
    """Value id and summed dimensions, from the right where negative."""


_ARGUMENTS: dict[str, dict[str, Dims]] = {
    "mm": {"self": (-1,), "mat2": (-2,)},
    "bmm": {"self": (-1,), "mat2": (-2,)},
    "addmm": {"mat1": (-1,), "mat2": (-2,)},
    "_addmm_activation": {"mat1": (-1,), "mat2": (-2,)},
    "baddbmm": {"batch1": (-1,), "batch2": (-2,)},
    "addbmm": {"batch1": (-1,), "batch2": (-2,)},
    "mv": {"self": (-1,), "vec": (-1,)},
    "addmv": {"mat": (-1,), "vec": (-1,)},
    "dot": {"self": (-1,), "tensor": (-1,)},
    "linear": {"input": (-1,), "weight": (-1,)},
    "convolution": {"input": (1, 2), "weight": (1, 2)},
    "convolution_backward": {"grad_output": (1, 2), "input": (1, 2), "weight": (1, 2)},
    "_scaled_dot_product_flash_attention_for_cpu": {"query": (-1,), "key": (-1,), "value": (-2,)},
    "_scaled_dot_product_flash_attention_for_cpu_backward": {
        "grad_out": (-1,), "query": (-1,), "key": (-1,), "value": (-1,),
    },
    "scaled_dot_product_attention": {"query": (-1,), "key": (-1,), "value": (-2,)},
    "_scaled_dot_product_attention_math": {"query": (-1,), "key": (-1,), "value": (-2,)},
}  # fmt: skip
"""Op → argument → summed dimensions. Of a convolution the channels and the first spatial dimension; in the
backward of attention what is computed inside stays exact, which is kinder than any kernel."""
_SUMS = ("sum", "mean")
_PASSED = ("_to_copy", "clone", "neg", "mul", "div")
_REGROUPED = (
    "expand",
    "view",
    "_unsafe_view",
    "reshape",
    "unsqueeze",
    "squeeze",
    "permute",
    "transpose",
)


def site_of(graph: Graph, position: int, makers: dict[int, int]) -> Site | None:
    """The product behind one call; ``None`` if it is none that can be rounded from outside.

    ``makers``: value id → position of the call that makes it.
    """
    node = graph.nodes[position]
    name = node.op.split(".")[1]
    if name in _ARGUMENTS:
        return _direct(node, position, _ARGUMENTS[name])
    if name in _SUMS:
        return _of_sum(graph, position, makers)
    return None


def _direct(node: Node, position: int, arguments: dict[str, Dims]) -> Site:
    operands = [
        (given.id, dims)
        for name, dims in arguments.items()
        if isinstance(given := node.args.get(name), Ref)
    ]
    return Site(position, tuple(operands))


def _of_sum(graph: Graph, position: int, makers: dict[int, int]) -> Site | None:
    """A product written as ``mul`` and ``sum``: rounded where it is multiplied."""
    node = graph.nodes[position]
    dims = _summed(node, graph)
    while True:
        source = node.args.get("self")
        made = makers.get(source.id) if isinstance(source, Ref) else None
        if made is None:
            return None
        node = graph.nodes[made]
        name = node.op.split(".")[1]
        if name == "mul" and isinstance(node.args.get("other"), Ref):
            return _factors(graph, made, dims)
        if name in _REGROUPED:
            dims = (-1,)  # which dimensions are summed there is not followed
        elif name not in _PASSED:
            return None


def _factors(graph: Graph, position: int, dims: Dims) -> Site | None:
    left, right = (graph.nodes[position].args[name].id for name in ("self", "other"))
    if left == right:
        return None  # a square is no product of two tensors
    own = ((v, tuple(d for d in dims if -d <= len(graph.values[v].shape))) for v in (left, right))
    return Site(position, tuple(own))


def _summed(node: Node, graph: Graph) -> Dims:
    """Reduced dimensions of a sum, counted from the right as broadcasting does."""
    given = node.args.get("dim")
    given = (given,) if isinstance(given, int) else tuple(given or ())
    rank = len(graph.values[node.args["self"].id].shape)
    return tuple(d if d < 0 else d - rank for d in given) or (-1,)


def makers_of(graph: Graph) -> dict[int, int]:
    """Value id → position of the call that makes it."""
    return {v: p for p, node in enumerate(graph.nodes) for v in node.results()}


def flops(graph: Graph) -> int:
    """FLOPs of the products that can be rounded, roughly: every result times what it sums over."""
    return sum(_flops(node, graph) for node in graph.nodes)


def _flops(node: Node, graph: Graph) -> int:
    name = node.op.split(".")[1]
    if name not in _ARGUMENTS:
        return 0
    results = max((graph.values[v].numel for v in node.results()), default=0)
    shapes = [graph.values[v].shape for v in node.refs()]
    if "convolution" in name:
        weight = graph.values[node.args["weight"].id]
        return 2 * results * weight.numel // max(1, weight.shape[0])
    lengths = [n for shape in shapes for n in shape[-2:]]
    return 2 * results * max(lengths, default=1)
