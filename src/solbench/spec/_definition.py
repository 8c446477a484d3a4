"""Definition: what a problem computes, over which axes, in which precision."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Exchanged(BaseModel):
    """Base of every exchanged model: immutable; unknown keys are kept and warned about by the loader."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())


class ConstAxis(_Exchanged):
    type: Literal["const"]
    value: int = Field(gt=0)
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


class Definition(_Exchanged):
    name: str = Field(min_length=1)
    axes: dict[str, Axis]
    inputs: dict[str, TensorSpec]
    """In the order in which ``run`` takes them, by position."""
    outputs: dict[str, TensorSpec]
    reference: str
    """Python source that defines ``run``."""
    description: str | None = None
    op_type: str | None = None
    hf_id: str | None = None
    constraints: tuple[str, ...] = ()
    """Boolean expressions over the axes; each must hold for every workload."""
    custom_inputs_entrypoint: str | None = None
    """Name of a function of the reference: ``fn(axes_and_scalars, device) -> dict``."""
