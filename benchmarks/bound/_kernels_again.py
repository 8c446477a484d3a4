"""Times that a card gave once, beside the bounds of today's code: needs no GPU."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from _kernel_rows import Measured, bound_of, line, row_of
from _kernels import Case, cases

from solbench.hardware import Hardware, load_hardware


def again(record: Path, families: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Where the times come from, and the rows with bounds derived anew.

    A case that the record has no time for, and a time whose case is no more, become rows that say so.
    """
    entry = json.loads(record.read_text())
    numbers = entry["numbers"]
    hardware = load_hardware(numbers["hardware"])
    # A record made by this function names the one with the measurements: theirs is the date that counts.
    source = numbers.get("times") or {
        "record": record.name,
        "date": entry["date"],
        "machine": entry["machine"],
    }
    rows = []
    for row in _rows(numbers["rows"], families, hardware):
        print(line(row), flush=True)
        rows.append(row)
    return {
        "hardware": hardware.name,
        "bounds": "derived anew, without a GPU",
        "times": source,
    }, rows


def _rows(
    recorded: Sequence[dict[str, Any]], families: Sequence[str], hardware: Hardware
) -> Iterator[dict[str, Any]]:
    old = {(row["family"], row["kernel"]): row for row in recorded}
    chosen = [c for c in cases() if not families or c.family in families]
    for case in chosen:
        found = old.pop((case.family, case.name), None)
        if found is None:
            yield _failed(case.family, case.name, "the record has no such case")
        elif "error" in found:
            yield found
        else:
            yield _row(case, found, hardware)
    for family, kernel in old:
        if not families or family in families:
            yield _failed(family, kernel, "measured once, no case any more")


def _row(case: Case, found: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    args = [arg.stand_in() for arg in case.args]
    measured = Measured(
        least_us=found["least_us"],
        median_us=found["median_us"],
        kernels=tuple((kernel["name"], kernel["us"]) for kernel in found["kernels"]),
        kernel_count=found["kernel_count"],
        kernel_us=found["kernel_us"],
        sm_clock_mhz=found["sm_clock_mhz"],
        power_capped=found["power_capped"],
    )
    try:
        demand, priced = bound_of(case, args, hardware)
    except Exception as error:  # noqa: BLE001 - a run over all cases reports every failure and goes on
        return _failed(case.family, case.name, str(error)[:400])
    row = row_of(case, demand, priced, measured, hardware)
    before = {name: found[name] for name in ("t_sol_us", "t_attainable_us")}
    return row | {"when_measured": found.get("when_measured", before)}


def _failed(family: str, kernel: str, why: str) -> dict[str, Any]:
    return {"family": family, "kernel": kernel, "error": why}
