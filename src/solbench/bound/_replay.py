"""Run nodes of a captured graph on real tensors.

Two users: verification replays a whole graph and compares it with the reference, and capture computes the
contents of single values (a mask, an index) on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch

from solbench.bound.graph import ABSENT, Graph, Node, Ref, Value

Operands = Callable[[int], torch.Tensor]
_NARROW_FLOATS = (torch.float16, torch.bfloat16, torch.float32)


@lru_cache(maxsize=4096)
def find_operator(name: str) -> torch._ops.OpOverload:
    """The overload behind a node's ``op``, such as ``aten.mm.default``."""
    namespace, packet, overload = name.split(".")
    found = getattr(getattr(getattr(torch.ops, namespace), packet), overload)
    assert isinstance(found, torch._ops.OpOverload)
    return found


@lru_cache(maxsize=4096)
def _writable_arguments(operator: torch._ops.OpOverload) -> tuple[str, ...]:
    names = tuple(
        argument.name
        for argument in operator._schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    )
    return names or _UNDECLARED_WRITES.get(operator._schema.name, ())


# Its schema does not say so, but in training it updates the running statistics.
_UNDECLARED_WRITES: dict[str, tuple[str, ...]] = {
    "aten::native_batch_norm": ("running_mean", "running_var")
}


def mutated_arguments(
    operator: torch._ops.OpOverload, arguments: Mapping[str, Any]
) -> tuple[str, ...]:
    """Names of the arguments that this call writes to, in schema order."""
    # Normalisation names its statistics as written, but leaves them alone outside training.
    return () if arguments.get("training") is False else _writable_arguments(operator)


def call_node(
    node: Node, operands: Operands, values: Mapping[int, Value]
) -> tuple[torch.Tensor | None, ...]:
    """Results of one node, aligned with ``node.outputs``; operands are never modified.

    ``values`` gives the recorded geometry of the operands, on which ``as_strided`` depends.
    """
    operator = find_operator(node.op)
    arguments = _materialised(node, operands, values)
    result = _invoke(operator, arguments)
    if isinstance(result, float):
        result = torch.tensor(result, dtype=torch.float64)
    mutated = mutated_arguments(operator, node.args)
    versions = [tensor for name in mutated for tensor in tensors_in(arguments[name])]
    fresh = [item for item in tensors_in(result, keep_none=True) if not _among(item, versions)]
    outputs: list[torch.Tensor | None] = [*fresh, *versions]
    return tuple(outputs)


def call_raw(node: Node, operands: Operands, values: Mapping[int, Value]) -> Any:
    """What the operator itself returns: also for calls that return Python numbers."""
    return _invoke(find_operator(node.op), _materialised(node, operands, values))


def _materialised(node: Node, operands: Operands, values: Mapping[int, Value]) -> dict[str, Any]:
    mutated = mutated_arguments(find_operator(node.op), node.args)
    arguments = {
        name: _materialise(argument, operands, copy=name in mutated)
        for name, argument in node.args.items()
    }
    if node.op.startswith("aten.as_strided"):
        arguments["self"] = _laid_out(arguments["self"], values[node.args["self"].id])
    return arguments


def _invoke(operator: torch._ops.OpOverload, arguments: dict[str, Any]) -> Any:
    """Call with the arguments bound by name; a view that needs a copy on these strides gets one."""
    if operator is torch.ops.aten.view.default:
        return arguments["self"].reshape(arguments["size"])
    positional = []
    keywords = {}
    for argument in operator._schema.arguments:
        if argument.kwarg_only:
            keywords[argument.name] = arguments[argument.name]
        else:
            positional.append(arguments[argument.name])
    return operator(*positional, **keywords)


def _laid_out(tensor: torch.Tensor, value: Value) -> torch.Tensor:
    """The same contents at the recorded strides and offset."""
    if tensor.stride() == value.stride and tensor.storage_offset() == value.storage_offset:
        return tensor
    steps = ((size - 1) * step for size, step in zip(value.shape, value.stride, strict=True))
    buffer = tensor.new_empty(value.storage_offset + sum(steps) + 1)
    laid_out = buffer.as_strided(value.shape, value.stride, value.storage_offset)
    return laid_out.copy_(tensor)


def _among(item: torch.Tensor | None, tensors: Sequence[torch.Tensor]) -> bool:
    return any(item is tensor for tensor in tensors)


def _materialise(argument: Any, operands: Operands, *, copy: bool) -> Any:
    if isinstance(argument, Ref):
        return _own_copy(operands(argument.id)) if copy else operands(argument.id)
    if isinstance(argument, tuple):
        return [_materialise(item, operands, copy=copy) for item in argument]
    return argument


def _own_copy(tensor: torch.Tensor) -> torch.Tensor:
    """A writable copy: same strides where they do not overlap."""
    return tensor.clone() if 0 not in tensor.stride() else tensor.contiguous().clone()


def tensors_in(value: Any, *, keep_none: bool = False) -> list[Any]:
    """The tensors of an argument or result, lists flattened, other things left out."""
    if isinstance(value, torch.Tensor):
        return [value]
    if value is None:
        return [None] if keep_none else []
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in tensors_in(item, keep_none=keep_none)]
    return []


Change = Callable[[torch.Tensor], torch.Tensor]
Instead = Callable[[Mapping[str, Any]], tuple[torch.Tensor | None, ...]]
"""Arguments of a call by name → its results."""


def replay(
    graph: Graph,
    inputs: Mapping[str, torch.Tensor],
    *,
    float64: bool = False,
    changed: Mapping[int, Mapping[int, Change]] | None = None,
    instead: Mapping[int, Instead] | None = None,
) -> list[tuple[str, torch.Tensor]]:
    """Run the whole graph on real inputs; returns (output name, tensor) as in ``graph.outputs``.

    ``float64`` runs in double precision: floating inputs and constants are widened, and nodes that name
    float16, bfloat16 or float32 use float64 instead. Intermediates are freed after their last use.
    ``changed``: position of a node → value id → what that node reads in place of the
    value; its results are then cast to the recorded dtypes. ``instead``: position of a node → what is called
    in its place; such a node is among the changed ones too.

    Raises
    ------
    KeyError
        An input of the graph is missing.
    """
    convert = _widen if float64 else _same
    held = {value: convert(inputs[name]) for name, value in graph.inputs.items()}
    held |= {value: convert(tensor) for value, tensor in graph.constants.items()}
    last_uses = _last_uses(graph)
    with torch.no_grad():
        for position, node in enumerate(graph.nodes):
            if float64:
                node = widened_node(node, graph.values)
            operands = held.__getitem__
            if changed and position in changed:
                operands = _through(changed[position], operands)
            if instead and position in instead:
                results = instead[position](_materialised(node, operands, graph.values))
            else:
                results = call_node(node, operands, graph.values)
            for value, tensor in zip(node.outputs, results, strict=True):
                if value != ABSENT and tensor is not None:
                    narrow = changed and position in changed and not float64
                    held[value] = tensor.to(graph.values[value].dtype) if narrow else tensor
            for value in last_uses.get(position, ()):
                held.pop(value, None)
    return [(name, held[value]) for name, value in graph.outputs]


def _through(changes: Mapping[int, Change], operands: Operands) -> Operands:
    def changed(value: int) -> torch.Tensor:
        tensor = operands(value)
        return changes[value](tensor) if value in changes else tensor

    return changed


def _last_uses(graph: Graph) -> dict[int, list[int]]:
    """Node position → values that nothing reads after it."""
    last = {
        value: position for position, node in enumerate(graph.nodes) for value in node.results()
    }
    last |= {value: position for position, node in enumerate(graph.nodes) for value in node.refs()}
    kept = {value for _, value in graph.outputs}
    freed: dict[int, list[int]] = {}
    for value, position in last.items():
        if value not in kept:
            freed.setdefault(position, []).append(value)
    return freed


def _same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.dtype in _NARROW_FLOATS else tensor


def widened_node(node: Node, values: Mapping[int, Value]) -> Node:
    """The node with float64 wherever it names a narrower float, or makes one by default."""
    arguments = dict(node.args)
    for name, argument in node.args.items():
        by_default = name == "dtype" and argument is None and _makes_narrow(node, values)
        if by_default or _is_narrow(argument):
            arguments[name] = torch.float64
    return Node(node.op, arguments, node.outputs, node.location)


def _makes_narrow(node: Node, values: Mapping[int, Value]) -> bool:
    return any(o in values and values[o].dtype in _NARROW_FLOATS for o in node.results())


def _is_narrow(argument: Any) -> bool:
    return isinstance(argument, torch.dtype) and argument in _NARROW_FLOATS
