"""Secret seeds, committed to before and opened after."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_AUDITS = 10
"""Float64 is slow on some devices: no more calls of a workload are computed in it."""

_ALWAYS_VARIED = (1, 2)
"""Binary logarithms of calls that never have the usual values, where a problem knows others."""


@dataclass(frozen=True, slots=True)
class SeedBook:
    """Seeds of all calls of one workload, from one secret.

    The commitment may be published at once; the opening only when the workload is over. With the
    opening, every input can be made again.
    """

    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @property
    def commitment(self) -> str:
        """SHA-256 of the secret."""
        return hashlib.sha256(self.secret).hexdigest()

    @property
    def opening(self) -> str:
        """The secret itself, in hexadecimal."""
        return self.secret.hex()

    def seed(self, call: int) -> int:
        """Seed of a call: 63 bits that tell nothing about those of other calls."""
        digest = hashlib.sha256(self.secret + call.to_bytes(8, "little")).digest()
        return int.from_bytes(digest[:8], "little") >> 1

    @property
    def weights_seed(self) -> int:
        """Seed of the inputs that stay over calls."""
        return self._number("weights", 0)

    def is_audited(self, call: int) -> bool:
        """Whether a call is also compared with float64: the first, and a secret one of each of
        the ranges 2-3, 4-7, 8-15, ... so that no call is known to be safe."""
        if call < 2:
            return call == 0
        octave = call.bit_length() - 1
        if octave >= MOST_AUDITS:
            return False
        return call == (1 << octave) + self._number("audit", octave) % (1 << octave)

    def variation(self, call: int, kinds: Sequence[str]) -> str:
        """Which of the kinds of other values an audited call is made with. The first has none; those of the
        ranges 2-3 and 4-7 have one kind after the other, so that a short measurement has some too; half of the
        later ones have one."""
        if not (kinds and call):
            return ""
        octave = call.bit_length() - 1
        if octave in _ALWAYS_VARIED:
            return kinds[(self._number("first variation", 0) + octave) % len(kinds)]
        number = self._number("variation", call)
        return kinds[number // 2 % len(kinds)] if number % 2 else ""

    def _number(self, label: str, number: int) -> int:
        digest = hashlib.sha256(self.secret + label.encode() + number.to_bytes(8, "little"))
        return int.from_bytes(digest.digest()[:8], "little") >> 1
