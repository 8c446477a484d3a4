"""When an output counts as right. Pure functions of tensors; nothing here knows about processes or
clocks.

Two rules: :func:`official_gate` is the rule of the public benchmark, element by element with one
tolerance; :func:`budget_gate` is ours, an error budget measured against a float64 oracle, and
:func:`reference_gate` the same where only the reference is at hand. :class:`NearestRows` serves the second
where several answers are right.
"""

from solbench.gate._budget import (
    budget_gate,
    measure_error,
    reference_gate,
    reference_gate_calls,
)
from solbench.gate._form import CHUNK_ELEMENTS
from solbench.gate._official import official_gate, official_gate_all
from solbench.gate._rows import (
    NearestRows,
    largest_allowed,
    replace_rows,
    rows_allowed,
    rows_off,
    usual_largest,
)
from solbench.gate._together import official_gate_calls
from solbench.gate._types import (
    ErrorBudget,
    GateResult,
    GateStatus,
    Mismatch,
    OutputError,
    ToleranceLike,
)

__all__ = [
    "CHUNK_ELEMENTS",
    "ErrorBudget",
    "GateResult",
    "GateStatus",
    "Mismatch",
    "NearestRows",
    "OutputError",
    "ToleranceLike",
    "budget_gate",
    "largest_allowed",
    "measure_error",
    "official_gate",
    "official_gate_all",
    "official_gate_calls",
    "reference_gate",
    "reference_gate_calls",
    "replace_rows",
    "rows_allowed",
    "rows_off",
    "usual_largest",
]
