"""Which command prints which records with ``--json``, and their JSON Schema."""

from __future__ import annotations

from functools import reduce
from importlib import import_module
from operator import or_
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DataclassSchema

from solbench.cli._lines import FORM, ErrorLine
from solbench.errors import InputError
from solbench.spec import SCHEMAS

Schema = dict[str, Any]
_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}

_RECORDS: dict[str, tuple[str, ...]] = {
    "admit": ("cli._lines_judge.AdmitLine",),
    "attacks run": ("cli._lines_judge.AttackLine",),
    "bound": ("cli._lines_bound.BoundLine",),
    "calibrate": ("hardware.Calibration",),
    "challenge": ("cli._lines_bound.ChallengeLine",),
    "check": ("spec.Finding",),
    "compare": ("cli._lines_judge.CompareLine",),
    "doctor": ("cli._probes.Check",),
    "eval": (
        "spec.Trace",
        "cli._lines_judge.SuiteLine",
        "cli._lines_phases.PhasesLine",
    ),
    "explain": ("cli._lines_bound.ExplainLine", "cli._lines_bound.ComparedBoundsLine"),
    "guard": ("cli._lines_guard.GuardLine", "cli._lines_guard.RuleLine"),
    "hardware list": ("hardware.Hardware", "cli._lines.CpuLine"),
    "hardware show": ("hardware.Hardware",),
    "ir bound": ("cli._lines_bound.BoundLine",),
    "ir export": ("cli._lines_ir.GraphLine", "cli._lines_ir.GraphFileLine"),
    "ir picture": ("cli._lines.PictureLine",),
    "new": ("cli._lines.NewLine",),
    "ops coverage": ("cli._lines_bound.CoverageLine", "cli._lines_bound.UncapturedLine"),
    "ops list": ("bound.RuleInfo",),
    "ops suggest": ("bound.suggest.Suggestion",),
    "pack": ("cli._lines.PackLine",),
    "profile": ("report.Feedback",),
    "replay": ("cli._lines_judge.ReplayLine",),
    "report": ("report.Summary",),
    "schema": ("cli._lines.SchemaLine", "cli._lines.SchemaNamesLine"),
    "serve": ("cli._lines.ServeLine",),
    "suite check": ("cli._lines_suite.ProblemCheckLine",),
    "suite export": ("cli._lines.ExportLine",),
    "suite list": ("cli._lines_suite.ProblemLine",),
    "suite show": ("cli._lines_suite.ProblemLine",),
    "unpack": ("cli._lines.UnpackLine",),
}
"""Command → the types of its lines. Named, not imported: most need torch, and few are asked for at a time."""

COMMANDS = tuple(_RECORDS)
"""Whose lines have a schema: all of them."""
ERROR = "error"
"""Name of the schema of the line that any command ends with if it cannot do its work."""


def command_schema(name: str) -> Schema:
    """Of any line that a command prints, an error's too; ``InputError`` lists the names if it is unknown."""
    if name != ERROR and name not in _RECORDS:
        known = f"Files: {', '.join(SCHEMAS)}. Commands: {', '.join(COMMANDS)}; and {ERROR}."
        raise InputError(f"there is no schema '{name}'", key="NAME", remedy=known)
    kinds = (*map(_found, _RECORDS.get(name, ())), ErrorLine)
    adapter: TypeAdapter[Any] = (
        TypeAdapter(reduce(or_, cast(Any, kinds)), config=FORM)
        if name != ERROR
        else TypeAdapter(ErrorLine)
    )
    return _DIALECT | adapter.json_schema(mode="serialization", schema_generator=Whole)


class Whole(GenerateJsonSchema):
    """Dataclasses have all their keys and no others, as models of ours have; older pydantics do not pass the
    models' configuration on to them."""

    def dataclass_schema(self, schema: DataclassSchema) -> JsonSchemaValue:
        made = super().dataclass_schema(schema)
        if "properties" in made:
            made |= {"required": list(made["properties"]), "additionalProperties": False}
        return made


def _found(place: str) -> type:
    module, name = place.rsplit(".", 1)
    return cast(type, getattr(import_module(f"solbench.{module}"), name))
