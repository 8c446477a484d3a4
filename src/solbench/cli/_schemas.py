"""JSON Schema of what commands print with ``--json``, one record a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from solbench.errors import InputError

Schema = dict[str, Any]
_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")


class BoundLine(_Line):
    """What ``solbench bound --json`` prints; docs/formats.md explains the keys."""

    problem: str
    workload: str
    hardware: str
    clock_mhz: float
    t_sol_ms: float | None
    t_attainable_ms: float | None
    t_floor_ms: float | None
    binding: str | None
    matrix_flops: dict[str, float]
    dram_read_bytes: float
    dram_write_bytes: float
    complete: bool
    unknown_ops: list[str]
    capture: str | None
    verified: bool
    verified_nodes: int
    total_nodes: int
    unverified: list[str]
    precision: str
    assumptions: list[str]
    seconds: float
    error: str | None
    admission: dict[str, Any] | None


class NewLine(_Line):
    """What ``solbench new --json`` prints."""

    solution: str
    folder: str
    sources: list[str]


class PackLine(_Line):
    """What ``solbench pack --json`` prints."""

    solution: str
    file: str


class UnpackLine(_Line):
    """What ``solbench unpack --json`` prints."""

    solution: str
    folder: str


class ServeLine(_Line):
    """What ``solbench serve --json`` prints when it listens."""

    url: str
    devices: list[str]


class RuleLine(_Line):
    """What ``solbench guard --rules --json`` prints."""

    rule: str
    severity: str
    about: str


def _model(model: type[BaseModel]) -> Schema:
    return model.model_json_schema(mode="serialization")


def _dataclass(kind: type) -> Schema:
    """Of what ``asdict`` makes of one: all its fields, and no others."""
    schema = TypeAdapter(kind).json_schema(mode="serialization")
    return {**schema, "required": list(schema["properties"]), "additionalProperties": False}


def _guard() -> Schema:
    from solbench.judge.guard import Finding
    from solbench.judge.guard._reviewer import Opinion

    finding, opinion = _dataclass(Finding), _model(Opinion)
    definitions = opinion.pop("$defs")
    opinion["properties"] |= {"agrees": {"type": "boolean"}, "comparison": {"type": "string"}}
    properties = {
        "solution": {"type": "string"},
        "suspicious": {"type": "boolean"},
        "findings": {"type": "array", "items": finding},
        "reviewer": {"anyOf": [opinion, {"type": "null"}]},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": definitions,
    }


def _trace() -> Schema:
    from solbench.spec import schema

    return schema("trace")


def _check() -> Schema:
    from solbench.spec import Finding

    return _dataclass(Finding)


def _doctor() -> Schema:
    from solbench.cli._probes import Check

    return _dataclass(Check)


def _hardware() -> Schema:
    from solbench.hardware import Hardware

    return _dataclass(Hardware)


def _report() -> Schema:
    from solbench.report import Summary

    return _dataclass(Summary)


def _profile() -> Schema:
    from solbench.report import Feedback

    return _dataclass(Feedback)


_SCHEMAS: dict[str, Callable[[], Schema]] = {
    "bound": lambda: _model(BoundLine),
    "check": _check,
    "doctor": _doctor,
    "eval": _trace,
    "guard": _guard,
    "guard-rules": lambda: _model(RuleLine),
    "hardware": _hardware,
    "new": lambda: _model(NewLine),
    "pack": lambda: _model(PackLine),
    "profile": _profile,
    "report": _report,
    "serve": lambda: _model(ServeLine),
    "unpack": lambda: _model(UnpackLine),
}

COMMANDS = tuple(_SCHEMAS)
"""Whose records have a schema."""


def command_schema(name: str) -> Schema:
    """Of one record; ``InputError`` lists the names if it is unknown."""
    make = _SCHEMAS.get(name)
    if make is None:
        raise InputError(f"there is no schema '{name}'", remedy=f"Commands: {', '.join(COMMANDS)}.")
    return _DIALECT | make()
