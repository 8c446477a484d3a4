"""Workload: one set of axis values and input descriptors of a problem."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from solbench.spec._definition import _Exchanged


class RandomInput(_Exchanged):
    type: Literal["random"]


class ScalarInput(_Exchanged):
    type: Literal["scalar"]
    value: bool | int | float


class CustomInput(_Exchanged):
    type: Literal["custom"]


class SafetensorsInput(_Exchanged):
    type: Literal["safetensors"]
    path: str
    tensor_key: str


InputDescriptor = Annotated[
    RandomInput | ScalarInput | CustomInput | SafetensorsInput, Field(discriminator="type")
]


class Tolerance(_Exchanged):
    """The official rule's numbers: an element matches if ``|o - r| <= atol + rtol * |r|``."""

    max_atol: float = Field(default=1e-2, ge=0)
    max_rtol: float = Field(default=1e-2, ge=0)
    required_matched_ratio: float = Field(default=0.99, ge=0, le=1)
    max_error_cap: float | None = None
    allow_negative_inf: bool = False


class Workload(_Exchanged):
    uuid: str = Field(min_length=1)
    """Results are keyed by it: axes may repeat within a file."""
    axes: dict[str, int] = {}
    inputs: dict[str, InputDescriptor] = {}
    """An input that is not listed is random."""
    tolerance: Tolerance = Tolerance()
