"""Latencies of one program: those that count, and those during which something else had the processor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

FEW = 6
"""Fewer undisturbed samples than this give no interval; the least disturbed ones then count too."""


@dataclass(slots=True)
class Series:
    """In order of measurement; ms a call, floor subtracted."""

    kept: list[float] = field(default_factory=list)
    disturbed: list[tuple[float, float]] = field(default_factory=list)
    """Share of the time that was lost, and the latency."""

    latest: float = 0.0
    """The last sample, whether it counts or not."""
    latest_disturbed: bool = False

    def add(self, latency_ms: float, lost_share: float = 0.0) -> None:
        """Keep a sample, or set it aside when time was lost."""
        self.latest, self.latest_disturbed = latency_ms, lost_share > 0
        if lost_share > 0:
            self.disturbed.append((lost_share, latency_ms))
        else:
            self.kept.append(latency_ms)

    def copy(self) -> Series:
        """One that can grow by itself."""
        return Series(list(self.kept), list(self.disturbed))

    def changed(self, change: Callable[[float], float]) -> Series:
        """The same samples, each with another latency."""
        return Series(
            [change(latency) for latency in self.kept],
            [(lost, change(latency)) for lost, latency in self.disturbed],
        )

    @property
    def counted(self) -> list[float]:
        """The samples that make the result."""
        missing = max(0, FEW - len(self.kept))
        return self.kept + [latency for _, latency in sorted(self.disturbed)[:missing]]

    @property
    def dropped(self) -> int:
        """Samples that do not count."""
        return len(self) - len(self.counted)

    def __len__(self) -> int:
        return len(self.kept) + len(self.disturbed)

    @property
    def disturbed_share(self) -> float:
        """0 where there is no sample."""
        return len(self.disturbed) / len(self) if len(self) else 0.0

    def busy(self) -> str:
        """Evidence that the machine was busy: more than half of the samples were disturbed."""
        if len(self.disturbed) * 2 <= len(self):
            return ""
        return f"{len(self.disturbed)} of {len(self)} samples were disturbed by other work"
