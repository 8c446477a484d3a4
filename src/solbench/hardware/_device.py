"""A device's peak rates, clock-free where a clock scales them."""

from __future__ import annotations

from dataclasses import dataclass, field

from solbench.errors import InputError, UnsupportedPrecision
from solbench.hardware._calibration import Calibration


@dataclass(frozen=True, slots=True)
class Hardware:
    """One device. Rates per SM and clock are dense; a multiply-add is 2 FLOPs."""

    name: str
    title: str
    sm_count: int
    matrix_flops_per_sm_per_clk: dict[str, float]
    """Tensor-core classes: fp64 tf32 bf16 fp16 fp8 nvfp4 int8."""
    simt_flops_per_sm_per_clk: dict[str, float]
    """fp32 and fp64 of the ordinary cores. A CPU has no others, so all its classes stand here."""
    clocks_mhz: dict[str, float]
    """``locked``, ``datasheet``, ``boost``, ``max``: those that the device's file gives."""
    default_clock: str
    dram_bytes_per_s: float
    l2_bytes: int
    """The last cache before memory."""
    l2_bytes_per_s: float
    shared_bytes_per_sm: int
    """The whole array that L1 and shared memory divide among themselves."""
    register_bytes_per_sm: int
    launch_floor_us: float
    sources: dict[str, str] = field(repr=False)
    """Key → where the number comes from."""
    calibrated: bool = False
    """Peaks are measured here, not a datasheet's: T_SOL is then an estimate and no strict bound."""
    tensor_memory_bytes_per_sm: int = 0
    special_ops_per_sm_per_clk: float = 0.0
    """exp2, log2, reciprocal, rsqrt, sin, cos, tanh of the special-function units; 0 if not known."""
    shared_bytes_per_sm_per_clk: float = 0.0
    """Bandwidth of shared memory; 0 if not known."""
    measured: Calibration | None = field(default=None, repr=False)
    """What ``solbench calibrate`` found on such a card: for T_attainable, beside the peaks."""

    @property
    def on_chip_bytes(self) -> int:
        """What all SMs hold beside the last cache: shared memory, registers, tensor memory."""
        per_sm = (
            self.shared_bytes_per_sm + self.register_bytes_per_sm + self.tensor_memory_bytes_per_sm
        )
        return self.sm_count * per_sm

    def clock_mhz(self, clock: str | float | None = None) -> float:
        """The named clock, the given one in MHz, or the default. Raises ``InputError``."""
        if isinstance(clock, int | float):
            return float(clock)
        name = clock or self.default_clock
        if name not in self.clocks_mhz:
            raise InputError(
                f"{self.name} has no clock named {name!r}",
                remedy=f"It has: {', '.join(self.clocks_mhz)}; a number is taken as MHz.",
            )
        return self.clocks_mhz[name]

    def flops_per_s(self, precision: str, clock_mhz: float) -> float:
        """Fastest unit for this class, whole device. Raises ``UnsupportedPrecision``."""
        rate = max(
            self.matrix_flops_per_sm_per_clk.get(precision, 0.0),
            self.simt_flops_per_sm_per_clk.get(precision, 0.0),
        )
        if not rate:
            known = sorted({*self.matrix_flops_per_sm_per_clk, *self.simt_flops_per_sm_per_clk})
            raise UnsupportedPrecision(
                f"{self.name} has no {precision} unit", remedy=f"It has: {', '.join(known)}."
            )
        return rate * self.sm_count * clock_mhz * 1e6
