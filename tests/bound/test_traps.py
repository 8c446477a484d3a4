"""The table of traps names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
ROW = re.compile(r"^\| (?P<trap>[^|]+) \| (?P<tests>[^|]+: [^|]+) \|$")


def rows() -> list[tuple[str, list[str]]]:
    found = []
    for line in (HERE / "TRAPS.md").read_text().splitlines():
        match = ROW.match(line)
        if match:
            found.append((match["trap"], match["tests"].split("; ")))
    return found


def test_every_trap_has_a_test_that_exists() -> None:
    assert len(rows()) == 26
    for trap, tests in rows():
        for test in tests:
            file, name = test.split(": ", 1)
            text = (HERE / f"test_{file}.py").read_text()
            defined = f'"{name}"' in text or f"def {name}(" in text
            assert defined, f"{trap}: no test {name} in test_{file}.py"
