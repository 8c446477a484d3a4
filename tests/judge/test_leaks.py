"""Evaluations in a row leave nothing behind; ``benchmarks/judge/leaks.py`` does a thousand."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("judge")

_FILE = Path(__file__).parents[2] / "benchmarks" / "judge" / "leaks.py"
_spec = importlib.util.spec_from_file_location("benchmark_leaks", _FILE)
assert _spec is not None and _spec.loader is not None
leaks = importlib.util.module_from_spec(_spec)
sys.modules["benchmark_leaks"] = leaks
_spec.loader.exec_module(leaks)


@pytest.mark.timeout(400)
def test_evaluations_in_a_row_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the submissions once, and once more, or several times where there is time."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    turns = len(leaks.SUBMISSIONS)
    count = (6 if "SOLBENCH_SLOW" in os.environ else 1) * turns
    before, after = leaks.evaluate_in_a_row("cpu", count, lambda number, seen: None, turns)
    assert leaks.leaks(before, after) == {}


def test_what_grew_is_told_and_a_little_memory_is_allowed() -> None:
    before = leaks.Footprint(3, 24, 4, 1, 500_000_000)
    after = leaks.Footprint(3, 25, 4, 1, 540_000_000)
    assert leaks.leaks(before, after) == {"descriptors": 1}
    swollen = leaks.Footprint(3, 24, 4, 1, 551_000_000)
    assert leaks.leaks(before, swollen) == {"memory_bytes": 51_000_000}
