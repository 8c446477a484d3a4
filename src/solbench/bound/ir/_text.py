"""YAML text of a lifted graph, and the bound of one that was read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from solbench.bound._analyse import demand_of
from solbench.bound._derive import priced_bound
from solbench.bound._lift import lift
from solbench.bound._programs import Program
from solbench.bound._result import Bound
from solbench.bound.capture import capture
from solbench.bound.ir._read import lifted_program
from solbench.bound.ir._write import LiftedProgram, document
from solbench.errors import InputError, MissingExtra
from solbench.hardware import Hardware

_WIDTH = 110


def lift_program(program: Program) -> LiftedProgram:
    """Capture and lift. Raises ``CaptureError`` as ``capture`` does."""
    graph, rung = capture(program)
    return LiftedProgram(lift(graph), program.name, program.workload, rung)


def export_ir(program: LiftedProgram) -> str:
    """The YAML text. The same program always gives the same text."""
    yaml = _yaml()
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(
        document(program), Dumper=dumper, sort_keys=False, default_flow_style=None, width=_WIDTH,
        allow_unicode=True,
    )  # fmt: skip
    return str(text)


def write_ir(program: LiftedProgram, path: Path) -> None:
    path.write_text(export_ir(program), encoding="utf-8")


def read_ir(path: Path) -> LiftedProgram:
    """Read a file back. Raises ``InputError`` that names the file, and the node or value at fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "Name a file that 'solbench ir export' wrote."
        raise InputError(f"cannot be read: {reason}", file=path, remedy=remedy) from None
    try:
        return lifted_program(_parsed(text))
    except InputError as error:
        raise InputError(error.what, file=path, key=error.key, remedy=error.remedy) from None


def _parsed(text: str) -> Any:
    yaml = _yaml()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)  # a safe loader: plain data only
    except yaml.YAMLError as error:
        raise InputError(f"is no YAML: {error}") from None


def derive_from_ir(
    program: LiftedProgram, hardware: Hardware, clock_mhz: float | None = None
) -> Bound:
    """The bound of a lifted graph, at declared precision: a file has no gate."""
    started = time.perf_counter()
    demand = demand_of(program.lifted, program.capture)
    clock = hardware.clock_mhz(clock_mhz)
    return priced_bound((program.program, program.workload), hardware, clock, demand, started)


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("pyyaml", "ir", error) from error
    return yaml
