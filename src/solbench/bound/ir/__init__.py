"""The lifted graph as a file: YAML that people read, and that gives the same bound when it is read back."""

from solbench.bound.ir._text import (
    derive_from_ir,
    export_ir,
    lift_program,
    read_ir,
    write_ir,
)
from solbench.bound.ir._write import LiftedProgram, document

__all__ = [
    "LiftedProgram",
    "derive_from_ir",
    "document",
    "export_ir",
    "lift_program",
    "read_ir",
    "write_ir",
]
