"""Definition: what a problem computes, over which axes, in which precision."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from solbench.spec._axes import LARGEST_SIZE, axis_problems
from solbench.spec._dtypes import DTYPES, dtype_remedy
from solbench.spec._field_problems import FieldProblem, Name, refuse_if

_SIZE_TEXT = re.compile(r"[1-9][0-9]{0,17}")


class _Exchanged(BaseModel):
    """Base of every exchanged model: immutable; unknown keys are kept and warned about by the loader."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        protected_namespaces=(),
        allow_inf_nan=False,
        ser_json_inf_nan="constants",
    )


class ConstAxis(_Exchanged):
    type: Literal["const"]
    value: int = Field(gt=0, le=LARGEST_SIZE)
    description: str | None = None


class VarAxis(_Exchanged):
    type: Literal["var"]
    description: str | None = None


class ExprAxis(_Exchanged):
    type: Literal["expr"]
    expression: str
    description: str | None = None


Axis = Annotated[ConstAxis | VarAxis | ExprAxis, Field(discriminator="type")]


class TensorSpec(_Exchanged):
    """A declared input or output."""

    shape: tuple[str, ...] | None
    """Axis names, or integers written as text. ``None``: a Python scalar. ``()``: a 0-D tensor."""
    dtype: str
    """One of ``solbench.spec.DTYPES``."""
    description: str | None = None

    @field_validator("dtype")
    @classmethod
    def _known_dtype(cls, name: str) -> str:
        if name not in DTYPES:
            refuse_if([FieldProblem(f"unknown dtype '{name}'", remedy=dtype_remedy(name))])
        return name


class ModelSource(_Exchanged):
    """A public model whose dimensions a problem has."""

    id: str
    """On the model hub."""
    source: str
    """Where the dimensions stand: the fields of its public configuration."""
    domain: str = "language"
    read: str = ""
    """Where someone read them, as ``repository: file`` or a paper's table; empty: not confirmed."""


class GateMultipliers(_Exchanged):
    """How much worse than the reference at declared precision a result may be."""

    rms_multiplier: float = Field(default=2.0, gt=0)
    max_multiplier: float = Field(default=4.0, gt=0)
    reason: str = ""
    """Why they are not the defaults."""


class Policy(_Exchanged):
    """What a solution may do."""

    prepacked_weights: bool = True
    """Weights keep their values and addresses over calls, so that they may be repacked once."""
    library_calls: bool = True
    lower_precision: bool = False
    streams: bool = True


VariationKind = Literal["scale", "sign", "outliers", "sparsity"]


class OwnRecord(_Exchanged):
    """What SolBench's own problems say beside the public form; other readers skip it."""

    tier: str
    direction: Literal["forward", "backward"]
    models: tuple[ModelSource, ...] = ()
    weights: tuple[str, ...] = ()
    """Inputs that are weights; all others are activations and change with each call."""
    gate: GateMultipliers = GateMultipliers()
    policy: Policy = Policy()
    variations: dict[VariationKind, tuple[str, ...]] = Field(default_factory=dict)
    """Other values than the generators give, and the inputs that may have them. The judge mixes them
    secretly into the calls, and a solution must stand them."""


class Definition(_Exchanged):
    name: Name
    axes: dict[str, Axis]
    inputs: dict[str, TensorSpec]
    """In the order in which ``run`` takes them, by position."""
    outputs: dict[str, TensorSpec] = Field(min_length=1)
    reference: str
    """Python source that defines ``run``."""
    description: str | None = None
    op_type: str | None = None
    hf_id: str | None = None
    constraints: tuple[str, ...] = ()
    """Boolean expressions over the axes; each must hold for every workload."""
    custom_inputs_entrypoint: str | None = None
    """Name of a function of the reference: ``fn(axes_and_scalars, device) -> dict``."""
    solbench: OwnRecord | None = None
    """Only our own problems have it."""

    @field_validator("hf_id", "op_type", "custom_inputs_entrypoint", mode="before")
    @classmethod
    def _empty_is_none(cls, text: Any) -> Any:
        return None if text == "" else text

    @field_validator("constraints", mode="before")
    @classmethod
    def _null_is_none_of_them(cls, constraints: Any) -> Any:
        # After a validator of this mode pydantic wants the tuple itself, not JSON's list.
        return tuple(constraints or ()) if isinstance(constraints, list | None) else constraints

    @model_validator(mode="after")
    def _rules(self) -> Definition:
        refuse_if([*self._axis_problems(), *self._shape_problems()])
        return self

    def _axis_problems(self) -> Iterator[FieldProblem]:
        for name in self.axes:
            if name.lstrip("-").isdigit() or not name.strip():
                yield FieldProblem(
                    f"'{name}' is no name for an axis", ("axes", name), "Use a word.", of_axis=True
                )
        expressions = {
            name: axis.expression if isinstance(axis, ExprAxis) else None
            for name, axis in self.axes.items()
        }
        for error in axis_problems(expressions):
            path = ("axes", error.key or "")
            yield FieldProblem(error.what, path, error.remedy, of_axis=True)

    def _shape_problems(self) -> Iterator[FieldProblem]:
        for group, tensors in (("inputs", self.inputs), ("outputs", self.outputs)):
            for name, tensor in tensors.items():
                for index, entry in enumerate(tensor.shape or ()):
                    if entry not in self.axes and not _SIZE_TEXT.fullmatch(entry):
                        yield FieldProblem(
                            f"'{entry}' is neither an axis nor a positive integer",
                            (group, name, "shape", index),
                            f"Declare it under 'axes', or use one of: {', '.join(self.axes)}.",
                        )
