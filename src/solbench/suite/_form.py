"""The form of a problem file: what a person declares above the reference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from solbench.errors import InputError
from solbench.spec import VariationKind
from solbench.suite._draw import Drawn, Value

Tier = Literal["L1", "L2", "Quant", "FIB"]
Direction = Literal["forward", "backward"]
Domain = Literal["language", "diffusion", "multimodal", "vision", "audio", "video"]
Row = tuple[int, ...]

_TENSOR = re.compile(r"(\w+)\[([\w ,]*)\]")


class _Var:
    """The type of ``var``."""


var = _Var()
"""An axis whose size each workload gives."""

AxisValue = int | str | _Var
"""A constant, an expression over other axes, or ``var``."""


@dataclass(frozen=True, slots=True)
class Model:
    """A public model that runs this operator at these sizes."""

    id: str
    """On the model hub."""
    source: str
    """The fields of its public configuration that give the sizes."""
    domain: Domain = "language"
    read: str = ""
    """Where the sizes were read: ``repository: file``, a paper's table, a model card; empty: not confirmed."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """``"bfloat16[tokens, hidden]"`` taken apart."""

    dtype: str
    shape: tuple[str, ...]


EVERY_KIND: tuple[VariationKind, ...] = ("scale", "sign", "outliers", "sparsity")
"""For inputs of operators that are sound on any values: products, norms, elementwise ones."""

QUERY_KINDS: tuple[VariationKind, ...] = ("sign", "sparsity")
KEY_KINDS: tuple[VariationKind, ...] = ("outliers", "sparsity")
"""For the two sides of a softmax's logits: at another scale one key takes all of the weight, and rounding
decides which. Not the same for both, since two changes of sign are none."""


@dataclass(frozen=True, slots=True)
class Input:
    """One tensor argument of ``run``."""

    type: TensorType
    values: Drawn
    role: Literal["activation", "weight"]
    vary: tuple[VariationKind, ...] = ()
    """Other values that it may have in some calls; the judge mixes them in secretly."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One Python number among the arguments of ``run``."""

    dtype: str
    value: Value
    """A number, or the name of an axis whose size is meant."""


@dataclass(frozen=True, slots=True)
class Gradient:
    """What a backward problem differentiates, so that it can be checked against autograd."""

    function: str
    """Name of the forward function in the reference; it takes ``inputs`` by position."""
    inputs: tuple[str, ...]
    """One that the problem itself does not take, such as a bias, is zero and has its gradient's shape."""
    upstream: tuple[str, ...]
    """Inputs that hold the gradients of the forward's outputs, in their order."""
    of: tuple[str, ...]
    """The forward input that each output of the problem is the gradient of, in the outputs' order."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Multipliers of the error budget; other ones than the defaults need a reason."""

    rms_multiplier: float = 2.0
    max_multiplier: float = 4.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SuitePolicy:
    """What a solution may do."""

    prepacked_weights: bool = True
    library_calls: bool = True
    lower_precision: bool = False
    streams: bool = True


@dataclass(frozen=True, slots=True)
class Rows:
    """Sizes of some axes, one row a workload."""

    axes: tuple[str, ...]
    values: tuple[Row, ...]

    def sizes(self) -> tuple[dict[str, int], ...]:
        return tuple(dict(zip(self.axes, row, strict=True)) for row in self.values)


@dataclass(frozen=True, slots=True)
class Problem:
    """The declaration of one problem. What ``run`` computes stands below it in the file."""

    name: str
    tier: Tier
    family: str
    """Kind of operator: norm, gemm, attention, …"""
    models: tuple[Model, ...]
    axes: Mapping[str, AxisValue]
    inputs: Mapping[str, Input | Scalar]
    """In the order in which ``run`` takes them."""
    outputs: Mapping[str, str]
    """Name → ``"dtype[axis, axis]"``."""
    workloads: Rows
    smoke: Rows
    """Small ones, at most 16 MiB and a second each; they may override constant axes."""
    direction: Direction = "forward"
    description: str = ""
    """Empty: the file's docstring."""
    constraints: tuple[str, ...] = ()
    fixed_values: str = ""
    """Why no input may leave its distribution, where none has ``vary``."""
    held_out_axes: tuple[str, ...] | None = None
    """Axes whose sizes held-out workloads may change, each alone; ``None``: every ``var`` axis."""
    gradient: Gradient | None = None
    gate: Gate = field(default_factory=Gate)
    policy: SuitePolicy = field(default_factory=SuitePolicy)

    def output_types(self) -> dict[str, TensorType]:
        return {name: tensor_type(text) for name, text in self.outputs.items()}


def tensor_type(text: str) -> TensorType:
    """Take ``"dtype[axis, 16]"`` apart; ``"dtype[]"`` is a 0-D tensor."""
    match = _TENSOR.fullmatch(text)
    if match is None:
        raise InputError(
            f"'{text}' is not a tensor type", remedy="Write it as 'bfloat16[tokens, hidden]'."
        )
    entries = tuple(part.strip() for part in match[2].split(",") if part.strip())
    return TensorType(match[1], entries)


def activation(type: str, values: Drawn, vary: tuple[VariationKind, ...] = ()) -> Input:
    """An input that differs in every call. ``vary``: in which ways its values may also leave their
    distribution (``scale``, ``sign``, ``outliers``, ``sparsity``), with the reference still sound on them."""
    return Input(tensor_type(type), values, "activation", vary)


def weight(type: str, values: Drawn) -> Input:
    """An input that stays over calls, as a model's parameters do."""
    return Input(tensor_type(type), values, "weight")


def scalar(dtype: str, value: Value) -> Scalar:
    """A Python number, the same in every workload, or the size of the named axis."""
    return Scalar(dtype, value)


def rows(axes: str, *values: int | Row) -> Rows:
    """Workloads by their sizes: ``rows("batch tokens", (1, 128), (4, 77))`` or ``rows("tokens", 1, 7)``."""
    names = tuple(axes.split())
    filled = tuple(row if isinstance(row, tuple) else (row,) for row in values)
    for row in filled:
        if len(row) != len(names):
            raise InputError(f"the row {row} does not fit the axes '{axes}'")
    return Rows(names, filled)
