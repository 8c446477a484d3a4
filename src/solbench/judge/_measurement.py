"""What is known of one workload's calls so far, and which of them are compared with float64."""

from __future__ import annotations

from dataclasses import dataclass, field

from solbench.gate import GateResult
from solbench.judge._clocks import Clocks
from solbench.judge._device import Advice
from solbench.judge._precision import PrecisionAudit
from solbench.judge._samples import Series
from solbench.judge._statistics import AUDIT_SECONDS, SURE_AUDITS
from solbench.judge._verdicts import Failure
from solbench.spec import Flag


@dataclass(slots=True)
class Measurement:
    """Everything learnt about a workload so far; further passes add to it."""

    clocks: Clocks = field(default_factory=Clocks)
    """Latencies of the candidate."""
    reference: Series = field(default_factory=Series)
    gate: GateResult = field(default_factory=lambda: GateResult("PASSED"))
    """The worst comparison of all calls."""
    failure: Failure | None = None
    flags: dict[str, str] = field(default_factory=dict)
    """Flag id → evidence."""
    floor_ms: float = 0.0
    """Share of the timer floor that was subtracted from each latency."""
    resolution_ms: float = 0.0
    """Share of the empty run's own spread: a time is not known better than this."""
    doubt: str = ""
    """Why the time is not verified, if it is not."""
    fallback_reference_ms: float = 0.0
    """Time of the reference in the judge's process; only set where it could not be timed in the
    jail."""
    readings: list[dict[str, float]] = field(default_factory=list)
    """Clocks, temperature and power after each timed run, where the device tells them."""
    precision: PrecisionAudit = field(default_factory=PrecisionAudit)
    calls: int = 0
    """Seeds used so far."""
    advice: Advice | None = None
    """What the worker's own profiler said of one call."""
    audited: list[int] = field(default_factory=list)
    """Numbers of the calls that were compared with float64."""
    audit_s: float = 0.0
    """What the last of them took, each."""

    @property
    def candidate(self) -> Series:
        """Latencies of the candidate by the clock that ranks."""
        return self.clocks.ranking

    def flag_list(self) -> tuple[Flag, ...]:
        flags = {**self.flags, "unverified_time": self.doubt} if self.doubt else self.flags
        own = tuple(Flag(id=name, evidence=evidence) for name, evidence in flags.items())
        return own + (self.failure.flags if self.failure else ())


@dataclass(frozen=True, slots=True)
class Audits:
    """Which calls are also compared with float64."""

    allowed: bool = False
    variations: tuple[str, ...] = ()
    """Kinds of other values that are mixed into audited calls, and must be stood."""
    flagging: tuple[str, ...] = ()
    """Kinds of which one is tried after all timed calls; failing on it only raises a flag."""
    sure: int = SURE_AUDITS
    """So many are made whatever they cost."""
    seconds: float = AUDIT_SECONDS
    """What the others may take together."""

    def affordable(self, into: Measurement) -> bool:
        """Whether one more may be made, by what the last ones took."""
        beyond = len(into.audited) + 1 - self.sure
        return beyond <= 0 or 0 < beyond * into.audit_s <= self.seconds
