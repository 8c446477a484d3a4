"""Secret seeds, committed to before and opened after."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field


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
