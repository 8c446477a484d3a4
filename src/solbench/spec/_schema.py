"""JSON Schema of every exchanged model."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from solbench.errors import InputError
from solbench.spec._definition import Definition
from solbench.spec._solution import Solution
from solbench.spec._trace import Trace
from solbench.spec._workload import Workload

SCHEMAS: dict[str, type[BaseModel]] = {
    "definition": Definition,
    "workload": Workload,
    "solution": Solution,
    "trace": Trace,
}
"""Name → model; a line of a JSONL file is one workload or one trace."""


def schema(name: str) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a model; ``InputError`` lists the names if it is unknown."""
    model = SCHEMAS.get(name.lower())
    if model is None:
        raise InputError(
            f"there is no schema '{name}'", remedy=f"Use one of: {', '.join(SCHEMAS)}."
        )
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | model.model_json_schema()
