"""Workload: one set of axis values and input descriptors of a problem."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from solbench.spec._axes import LARGEST_SIZE
from solbench.spec._definition import _Exchanged
from solbench.spec._field_problems import Name

MISSPELT_RATIO = "required_match_ratio"
"""Found in 1,299 public workloads; it has no effect, there or here."""


class RandomInput(_Exchanged):
    type: Literal["random"]


class ScalarInput(_Exchanged):
    type: Literal["scalar"]
    value: bool | int | float


class CustomInput(_Exchanged):
    type: Literal["custom"]


class SafetensorsInput(_Exchanged):
    type: Literal["safetensors"]
    path: str = Field(min_length=1)
    tensor_key: str


InputDescriptor = Annotated[
    RandomInput | ScalarInput | CustomInput | SafetensorsInput, Field(discriminator="type")
]
AxisSize = Annotated[int, Field(ge=0, le=LARGEST_SIZE)]


class Tolerance(_Exchanged):
    """The official rule's numbers: an element matches if ``|o - r| <= atol + rtol * |r|``."""

    max_atol: float = Field(default=1e-2, ge=0)
    max_rtol: float = Field(default=1e-2, ge=0)
    required_matched_ratio: float = Field(default=0.99, ge=0, le=1)
    """The misspelling ``required_match_ratio`` is kept as an unknown key; this stays at its default then."""
    max_error_cap: float | None = Field(default=None, ge=0)
    allow_negative_inf: bool = False

    @property
    def ratio_is_misspelt(self) -> bool:
        return MISSPELT_RATIO in (self.model_extra or {})


class Workload(_Exchanged):
    uuid: Name
    """Results are keyed by it: axes may repeat within a file."""
    axes: dict[str, AxisSize] = Field(default_factory=dict)
    inputs: dict[str, InputDescriptor] = Field(default_factory=dict)
    """An input that is not listed is random."""
    tolerance: Tolerance = Tolerance()

    @field_validator("tolerance", mode="before")
    @classmethod
    def _null_is_default(cls, tolerance: Any) -> Any:
        return {} if tolerance is None else tolerance
