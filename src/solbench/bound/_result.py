"""What a bound is made of: clock-free terms, their times on a device, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from solbench.bound._precision_result import Admission

CaptureRung = Literal["fake", "values", "real"]
Binding = Literal["dram", "matrix"]


@dataclass(frozen=True, slots=True)
class Removed:
    """Work or traffic that a naive count would include and this bound does not."""

    what: str
    """The tensor or operation."""
    reason: str
    matrix_flops: int = 0
    dram_bytes: int = 0


@dataclass(frozen=True, slots=True)
class NodeCost:
    """One row of the per-node table."""

    name: str
    op: str
    einsum: str
    """Extended einsum over named ranks, such as ``...i,oi->...o``; empty for a view."""
    location: str
    """Line of the reference."""
    matrix_flops: int
    vector_ops: int
    precision: str
    """Precision class of the contraction; empty where there is none."""
    position: int = -1
    """Of the call in the captured graph."""
    special_ops: int = 0
    """Of the special-function units (exponentials, logarithms, reciprocals, roots); an estimate."""
    bytes_read: int = 0
    """Of inputs that it reads itself, or through views: what is needed."""
    bytes_dropped: int = 0
    """Of those inputs: what is not."""
    dropped_reason: str = ""
    bytes_written: int = 0
    """Of outputs that it writes itself, or through views."""


@dataclass(frozen=True, slots=True)
class Contraction:
    """One contraction as a product of matrices, for the traffic between levels of memory."""

    node: str
    """The operation and its line."""
    batch: int
    rows: int
    columns: int
    inner: int
    macs: int
    """Counted multiply-adds: fewer than the product of the sizes under a mask or with repeats."""
    bits: int
    """Of one element in the narrowest format of operands and result."""
    isolated: bool = False
    """Operands are inputs and the result is an output, so that every schedule must move them."""
    windows: tuple[tuple[int, int, int, int], ...] = ()
    """Of a convolution: (outputs, taps, stride, dilation) a dimension. ``rows`` holds the outputs,
    ``inner`` the taps."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Two contractions, the second of which reads the result of the first and may keep it on chip."""

    first: int
    """Index into ``Demand.contractions``."""
    second: int
    batch: int
    rows: int
    inner: int
    middle: int
    columns: int
    softmax: bool


@dataclass(frozen=True, slots=True)
class Traffic:
    """Demanded bytes of one distinct storage."""

    tensor: str
    """Name of the input or output; several names when they share the storage."""
    direction: Literal["read", "write"]
    bytes: int
    declared_bytes: int
    reason: str = ""
    """Why fewer than declared, if so."""


@dataclass(frozen=True, slots=True)
class Term:
    """One resource's time: ``amount / rate``."""

    resource: str
    """``dram``, ``matrix.bf16``, ``launch``, …"""
    amount: float
    unit: str
    rate_per_s: float
    time_ms: float
    enters: Literal["t_sol", "t_attainable"]
    detail: str = ""
    """How the amount and the rate came about."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The device-free part: what every correct implementation must do for one workload."""

    matrix_flops: dict[str, int]
    """Precision class → FLOPs (a multiply-add is 2)."""
    vector_ops: int
    dram_read_bytes: int
    dram_write_bytes: int
    intermediate_bytes: int
    """Bytes of intermediates that ordinary fusion cannot avoid; for T_attainable only."""
    launches: int
    """Least dependent kernels of an ordinary implementation; for T_attainable only."""
    nodes: tuple[NodeCost, ...]
    traffic: tuple[Traffic, ...]
    removed: tuple[Removed, ...]
    unknown_ops: tuple[str, ...]
    assumptions: tuple[str, ...]
    precision: Literal["declared", "admitted"]
    capture: CaptureRung
    verified: bool
    verified_nodes: int = 0
    """Distinct calls whose lifted form was interpreted and agrees with the call."""
    total_nodes: int = 0
    """Distinct calls with a lifted form; 0 if nothing was verified."""
    unverified: tuple[str, ...] = ()
    """What was not checked, each with the reason."""
    mixed_flops: dict[str, int] = field(default_factory=dict)
    """Of ``matrix_flops["fp32"]``: products with one operand that this narrower class holds exactly."""
    admitted_flops: dict[str, int] = field(default_factory=dict)
    """FLOPs by the kind that they are priced at, where the gate lets lower precision through; else empty."""
    special_ops: int = 0
    """Of the special-function units; for T_attainable only."""
    contractions: tuple[Contraction, ...] = ()
    chains: tuple[Chain, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.unknown_ops


@dataclass(frozen=True, slots=True)
class Bound:
    """T_SOL of one workload on one device. Field names are the contract of ``solbench bound --json``.

    >>> bound = solbench.derive_bound(solbench.load_problem("examples/rmsnorm"), "h200")[0]
    >>> bound.dram_read_bytes, bound.dram_write_bytes
    (16384, 8192)
    """

    problem: str
    workload: str
    hardware: str
    clock_mhz: float | None
    t_sol_ms: float | None
    """``None`` when incomplete; such a bound is never scored."""
    t_attainable_ms: float | None
    t_floor_ms: float | None
    binding: Binding | None
    matrix_flops: dict[str, int]
    dram_read_bytes: int
    dram_write_bytes: int
    complete: bool
    unknown_ops: tuple[str, ...]
    capture: CaptureRung | None
    verified: bool
    precision: str
    assumptions: tuple[str, ...]
    seconds: float
    """Time the derivation took."""
    verified_nodes: int = 0
    """Of ``total_nodes`` distinct calls: their lifted form was interpreted and agrees with the call."""
    total_nodes: int = 0
    unverified: tuple[str, ...] = ()
    """What was not checked, each with the reason."""
    error: str | None = None
    """Why there is no bound, with the line of the reference; ``None`` otherwise."""
    terms: tuple[Term, ...] = ()
    admission: Admission | None = None
    """Which lower precision the problem's gate lets through; ``None`` where it was not asked."""
    demand: Demand | None = field(default=None, repr=False)
