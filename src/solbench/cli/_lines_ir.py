"""The lifted graph as ``ir export --json`` prints it; docs/ir.md explains the keys.

Keys that are not required are there only where they say something.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field
from typing_extensions import TypeAliasType

from solbench.cli._lines import FORM, Line

ValueName = Annotated[str, Field(pattern=r"^[vt]\d+$")]
"""``v3`` of the program, ``t7`` between two nodes of a call."""
Numbers = TypeAliasType("Numbers", "int | list[Numbers]")
"""An array of any rank, as lists."""


class _Sparse(Line):
    model_config = FORM | ConfigDict(
        json_schema_serialization_defaults_required=False, populate_by_name=True
    )
    sparse: ClassVar[bool] = True


class PackedArray(Line):
    """A long array: base64 of its zlib-compressed little-endian integers, or packed bits."""

    dtype: Literal["bool", "int64"]
    shape: tuple[int, ...]
    zlib: str


Array = Numbers | PackedArray
IndexSet = str | Array
"""``start:stop``, ``start:stop:step``, or an array."""
EqualSlices = tuple[Literal["const"] | Array | None, ...]
"""For each dimension: null if all may differ, ``const`` if all are equal, else index → first that is equal."""


class BandsRecord(Line):
    """A mask whose rows are intervals."""

    low: Array
    high: Array
    width: int


class JointRecord(_Sparse):
    """A mask over several dimensions."""

    dims: tuple[int, ...]
    bands: BandsRecord | None = None
    mask: Array | None = None


class BoxRecord(_Sparse):
    """One index set for each dimension, and masks over several."""

    sets: tuple[IndexSet, ...]
    joints: tuple[JointRecord, ...] = ()


class RegionRecord(_Sparse):
    """A union of boxes."""

    shape: tuple[int, ...]
    boxes: tuple[BoxRecord, ...]


class ConstantRecord(_Sparse):
    """Equal to ``value`` outside the box ``free``; null: everywhere."""

    value: float | Literal["inf", "-inf", "nan"]
    free: BoxRecord | None


class ScaledRecord(Line):
    """A narrower class that is left if a factor is applied after summing."""

    precision: str
    equal_slices: EqualSlices


class CallRecord(Line):
    """A call of an operation, and its line of the reference."""

    op: str
    line: str


class ValueRecord(_Sparse):
    """A tensor. Strides and offset count elements."""

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]
    storage: int
    offset: int = 0
    same_as: ValueName = ""
    precision: str = ""
    equal_slices: EqualSlices = ()
    constant: ConstantRecord | None = None
    scaled: ScaledRecord | None = None
    version_of: ValueName = ""
    changed: RegionRecord | None = None
    held_by_program: bool = False
    known: bool = False
    selects: bool = False
    without_rule: CallRecord | None = None


class TableAxis(_Sparse):
    """Position ``table[rank]``, or of a window ``table[rank, tap]``."""

    rank: str
    tap: str = ""
    table: Array


Axis = int | str | TableAxis
"""An index, ``i``, ``2*i+1``, ``:`` for all, or a table."""


class ResultRecord(Line):
    """What a node writes, and where."""

    value: ValueName
    at: tuple[Axis, ...]


class OperandRecord(_Sparse):
    """What a node reads, and where."""

    value: ValueName
    at: tuple[Axis, ...]
    within: BoxRecord | None = None
    outside: BoxRecord | None = None


class NodeRecord(_Sparse):
    """A map over named ranks, or, with ``reshape`` and ``to``, the same elements under another shape."""

    call: int
    op: str
    line: str = ""
    reshape: ValueName = ""
    to: ValueName = ""
    einsum: str = ""
    map: str = ""
    reduce: str = ""
    ranks: dict[str, int] = Field(default_factory=dict)
    out: tuple[ResultRecord, ...] = ()
    operands: tuple[OperandRecord, ...] = Field((), alias="in")
    contraction: bool = False
    linear: bool = False
    precision_travels: str = ""
    whole_lines_along: tuple[str, ...] = ()
    gated_by: int | None = None
    vector_ops: float = 1
    updates: BoxRecord | None = None


class OutputRecord(Line):
    """An output of the program; ``input:NAME`` is an input that it updates."""

    name: str
    value: ValueName


class GraphLine(_Sparse):
    """The lifted graph of one workload."""

    solbench_ir: Literal[1]
    program: str
    workload: str
    capture: Literal["fake", "values", "real"]
    inputs: dict[str, ValueName]
    outputs: tuple[OutputRecord, ...]
    decisions: tuple[ValueName, ...] = ()
    repeated: tuple[CallRecord, ...] = ()
    hidden_masks: tuple[CallRecord, ...] = ()
    values: dict[str, ValueRecord]
    nodes: tuple[NodeRecord, ...]

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """What ``solbench.bound.ir.document`` gives."""
        return cls.model_validate(document)


class GraphFileLine(Line):
    """With ``--out``: the file that was written."""

    file: str
    operations: int
