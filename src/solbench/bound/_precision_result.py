"""What the test of lower precision found, as it stands in a result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isinf
from typing import Any, Literal

PrecisionMode = Literal["declared", "admitted", "auto"]
"""``declared``: never try lower classes; ``auto``: try them, and price as declared what cannot be decided;
``admitted``: the same, but what cannot be decided leaves the bound incomplete."""
AdmissionStatus = Literal["declared", "admitted", "not_needed", "undecided"]
"""Every lower class failed; some passed; they would not change T_SOL; it could not be tried."""
GateName = Literal["official", "budget", ""]


@dataclass(frozen=True, slots=True)
class Trial:
    """One kind of product, tried at one place of the program."""

    kind: str
    """A precision class, or ``fp16x3`` and the like for split products."""
    passed: bool
    error_over_tolerance: float
    """Of the worst output and seed; at most 1 where the gate passes."""
    seeds: int
    """Draws that were judged."""
    share: float = 0.0
    """How much of the work may be done so: 1 if it passed, else by the law of ``_precision_part``."""


@dataclass(frozen=True, slots=True)
class PlaceAdmission:
    """What was tried for the products of one place."""

    location: str
    declared: str
    admitted: str
    """The fastest kind that passed, or the declared class."""
    trials: tuple[Trial, ...]
    """None for a place with too little work to matter: it is taken to pass."""
    calls: tuple[int, ...] = ()
    """Positions in the captured graph."""
    part: str = ""
    """A kind faster than ``admitted`` that some of the work may be done in; empty if that is not worth it."""
    part_share: float = 0.0
    """How much of the work."""

    @property
    def lowered(self) -> bool:
        return self.admitted != self.declared or bool(self.part)

    def split(self, flops: int) -> dict[str, int]:
        """FLOPs by the kind that they are priced at."""
        in_part = int(flops * self.part_share) if self.part else 0
        return {self.admitted: flops - in_part} | ({self.part: in_part} if in_part else {})


@dataclass(frozen=True, slots=True)
class Admission:
    """Evidence of the classes that a bound is priced at."""

    status: AdmissionStatus
    reason: str = ""
    """Why it was not needed, or could not be decided."""
    gate: GateName = ""
    axes: dict[str, int] | None = None
    """Sizes of the instance on which it was tried."""
    places: tuple[PlaceAdmission, ...] = ()
    together: bool | None = None
    """Whether all admitted kinds pass in one run. If not, the bound is sound but some kernel would have to
    choose: each place was priced as if it alone were lowered."""


def admission_record(admission: Admission) -> dict[str, Any]:
    """The evidence as a record of a bound shows it; an error without a limit is ``null``."""
    places = [
        {
            **asdict(place),
            "calls": list(place.calls),
            "trials": [_trial_record(trial) for trial in place.trials],
        }
        for place in admission.places
    ]
    return {**asdict(admission), "places": places}


def _trial_record(trial: Trial) -> dict[str, Any]:
    record = asdict(trial)
    if isinf(trial.error_over_tolerance):
        record["error_over_tolerance"] = None
    return record
