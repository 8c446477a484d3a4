"""What a model is asked: the contract of a rule, worked examples, and the operation."""

from __future__ import annotations

import hashlib
import inspect

import torch

from solbench.bound._instances import Instance
from solbench.bound._replay import find_operator
from solbench.bound.rules._base import Call
from solbench.errors import InputError

_CONTRACT = """\
You write one rule in Python for an analyser of PyTorch programs. A rule turns one call of an operation into
lifted nodes, which say exactly which elements of which operands every output element needs. Both directions
count: an element that is needed must be read, and none that is not. Matrix work must be a contraction.

Answer with one fenced Python block and nothing else. The block holds imports, and one function decorated with
@rule("{op}"), which takes `call` and yields nodes. Allowed imports:
    from collections.abc import Iterable
    from math import prod
    from solbench.bound._lifted import Alias, Lifted, Map, Operand, Reshape
    from solbench.bound._access import Along, Fixed, Whole, broadcast, identity
    from solbench.bound.rules import Call, MissingRule, rule
No other imports, no classes, no try, no while, no lambda, no f-strings, no private names.

`call.args` maps argument names to constants; `call.shape("self")` is the shape of a tensor argument,
`call.shape(0)` that of output 0; `call.value("self").dtype` its dtype; `call.has(name)` says whether a tensor
is given; `call.dim()` is the argument `dim`, counted from the left; `call.temporary(shape, dtype)` is a value
between two nodes. Raise MissingRule("why") for arguments that the rule does not cover. Builders:
{builders}
Examples:

@rule("mylib.scaled.default")            # (Tensor self, Tensor gain) -> Tensor, broadcast
def scaled(call: Call) -> Iterable[Lifted]:
    yield call.pointwise("self", "gain", flavour="product")

@rule("mylib.line_norm.default")         # (Tensor self, int dim) -> Tensor: one number a line
def line_norm(call: Call) -> Iterable[Lifted]:
    yield call.reduce((call.dim(),))

@rule("mylib.gated_product.default")     # (Tensor x, Tensor w, Tensor gate) -> Tensor: (x @ w) * gate
def gated_product(call: Call) -> Iterable[Lifted]:
    product = call.temporary(call.shape(0), call.value("x").dtype)
    yield call.einsum("ik,kj->ij", "x", "w", out=product)
    yield call.pointwise(product, "gate", flavour="product")

The operation:
    {schema}
It is called so, among others:
{calls}
"""
_BUILDERS = ("pointwise", "reduce", "lines", "einsum", "moved", "reshaped", "everything", "created")


def prompt(op: str, samples: tuple[Instance, ...]) -> str:
    """The whole question. The same operation and samples give the same text."""
    calls = dict.fromkeys(_described(sample) for sample in samples)
    return _CONTRACT.format(
        op=op, schema=schema_of(op), builders=_builders(), calls="\n".join(list(calls)[:6])
    )


def schema_of(op: str) -> str:
    """The operation's schema. Raises ``InputError`` if torch does not know it."""
    try:
        return str(find_operator(op)._schema)
    except (AttributeError, ValueError, AssertionError):
        raise InputError(
            f"torch knows no operation '{op}'",
            key="OP",
            remedy="Name an overload, as 'solbench ops coverage' shows it: aten.put.default.",
        ) from None


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _builders() -> str:
    lines = []
    for name in _BUILDERS:
        method = getattr(Call, name)
        summary = (inspect.getdoc(method) or "").split("\n", 1)[0]
        lines.append(f"    call.{name}{inspect.signature(method)}\n        {summary}")
    return "\n".join(lines).replace("self, ", "", len(_BUILDERS))


def _described(sample: Instance) -> str:
    node = sample.graph.nodes[-1]
    values = dict(sample.contents)

    def shown(argument: object) -> str:
        number = getattr(argument, "id", None)
        if number in values:
            return f"{_dtype(values[number])}{list(values[number].shape)}"
        if isinstance(argument, tuple):
            return f"[{', '.join(shown(item) for item in argument)}]"
        return repr(argument)

    arguments = ", ".join(f"{name}={shown(given)}" for name, given in node.args.items())
    results = ", ".join(f"{_dtype(t)}{list(t.shape)}" for t in sample.outputs)
    return f"    {node.op}({arguments}) -> {results}"


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
