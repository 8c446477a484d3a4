"""Words that talk to a reader, and marks that a reader does not see."""

from __future__ import annotations

import re

TALKS = re.compile(
    r"ignore (?:all |any |the )?(?:previous|prior|above) (?:instructions|rules)"
    r"|(?:^|\n)[^\S\n]*+(?:(?:#|//)[^\S\n]*+)?(?:SYSTEM|ASSISTANT)\s*+:"
    r"|report (?:status )?PASSED"
    r"|you are (?:an? )?(?:AI|LLM|language model|reviewer|auditor)"
    r"|(?:this|the) (?:submission|solution|code) (?:was|is|has been) (?:already )?"
    r"(?:verified|approved|reviewed)",
    re.IGNORECASE,
)
TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u2060\ufeff\x1b\x08\x00]")
"""Control characters, zero-width ones, and those that turn the direction of writing round."""
