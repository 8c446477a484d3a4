"""Records of ``--json``: one type for what is printed and for its schema, so that they cannot differ.

A record is a model below (or in a ``_lines_*`` module beside this one), or a dataclass of the library as it is.
``solbench.cli._schemas`` says which command prints which. These modules are imported when a command prints.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

FORM = ConfigDict(
    extra="forbid",
    frozen=True,
    use_attribute_docstrings=True,
    json_schema_serialization_defaults_required=True,
)
"""Every key is always there, and there are no others."""


class Line(BaseModel):
    """One line of JSON on stdout."""

    model_config = FORM
    sparse: ClassVar[bool] = False
    """Whether keys that say nothing are left out."""


class OtherError(Line):
    """A further error of the same files."""

    error: str
    file: str | None
    line: int | None
    key: str | None
    remedy: str | None


class ErrorLine(Line):
    """Why a command could not do its work: with ``--json`` the last line, whatever the command."""

    error: str
    """What is wrong, in one sentence."""
    exit_code: int
    """2: bad arguments or input; 3: something is missing on this machine; 1: the work itself is not possible;
    4: a bug of ours; 130: interrupted."""
    file: str | None = None
    line: int | None = None
    """Of that file."""
    key: str | None = None
    """Option, argument, or key in the file."""
    remedy: str | None = None
    """What to do about it."""
    others: tuple[OtherError, ...] = ()
    """Where files were read in one pass: what else is wrong in them."""


class CpuLine(Line):
    """This machine's processor: its peaks are measured by ``solbench calibrate``, and shown by
    ``solbench hardware show cpu``."""

    name: Literal["cpu"] = "cpu"
    calibrated: Literal[True] = True


class ExportLine(Line):
    """A problem that was written."""

    problem: str
    folder: str


class NewLine(Line):
    """A starting solution that was written."""

    solution: str
    folder: str
    sources: tuple[str, ...]


class PackLine(Line):
    """Loose sources that became one file."""

    solution: str
    file: str


class PictureLine(Line):
    """A graph that was drawn."""

    picture: str
    """The file."""
    operations: int


class SchemaLine(Line):
    """A JSON Schema."""

    model_config = FORM | ConfigDict(extra="allow")

    dialect: Literal["https://json-schema.org/draft/2020-12/schema"] = Field(alias="$schema")


class SchemaNamesLine(Line):
    """Without a name: what has a schema."""

    files: tuple[str, ...]
    commands: tuple[str, ...]
    """Of any line of their ``--json``; ``error``: of the line that a command which fails ends with."""


class ServeLine(Line):
    """The service listens; printed once."""

    url: str
    devices: tuple[str, ...]


class UnpackLine(Line):
    """A solution whose sources were written."""

    solution: str
    folder: str
