"""A problem's inputs and outputs as parameters of a function."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

from solbench.spec import Definition, TensorSpec

_TAKEN = frozenset(
    {"torch", "triton", "tl", "run", "setup", "fill", "int", "float", "double", "char", "void", "const",
     "static", "auto", "new", "delete", "this", "template", "operator", "register", "signed", "unsigned",
     "short", "long", "switch", "case", "default", "do", "goto", "sizeof", "struct", "union", "enum",
     "extern", "volatile", "inline", "virtual", "private", "public", "protected", "namespace", "using",
     "stream", "inputs", "outputs", "scalars", "module", "cute", "cutlass", "driver", "ct", "np", "main"}
)  # fmt: skip
"""Names that mean something else in one of the languages' texts."""
_CPP_SCALARS = {"bool": "bool", "float32": "double", "float64": "double"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One of them."""

    name: str
    """Fit for Python and C++."""
    about: str
    """Such as ``bfloat16 [rows, 128]``."""
    is_tensor: bool
    cpp_scalar: str = "int64_t"
    """Type of a Python number in C++."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """In the order in which they are passed."""

    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]

    @property
    def all(self) -> tuple[Parameter, ...]:
        return (*self.inputs, *self.outputs)

    def described(self, mark: str) -> str:
        """One comment line a parameter."""
        rows = [f"{mark} {each.name}: {each.about}" for each in self.inputs]
        rows += [f"{mark} {each.name}: {each.about}, to be written" for each in self.outputs]
        return "\n".join(rows)


def parameters_of(definition: Definition) -> Parameters:
    """Inputs, then outputs."""
    used: set[str] = set(_TAKEN)
    inputs = tuple(_parameter(name, spec, used) for name, spec in definition.inputs.items())
    outputs = tuple(_parameter(name, spec, used) for name, spec in definition.outputs.items())
    return Parameters(inputs, outputs)


def _parameter(name: str, spec: TensorSpec, used: set[str]) -> Parameter:
    plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    if plain[0].isdigit() or keyword.iskeyword(plain):
        plain = f"_{plain}"
    while plain in used:
        plain += "_"
    used.add(plain)
    dtype = str(spec.dtype)
    if spec.shape is None:
        return Parameter(plain, f"{dtype} number", False, _CPP_SCALARS.get(dtype, "int64_t"))
    return Parameter(plain, f"{dtype} [{', '.join(map(str, spec.shape))}]", True)
