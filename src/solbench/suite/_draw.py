"""Naming a generator in a declaration without importing it: ``draw.normal(std=2.0)``.

The generators themselves are torch functions (``generators/`` and ``formats/``), embedded as text into the
exported problem. A declaration only records which one is called with what.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from solbench.errors import InputError
from solbench.suite._generator_text import generator_names, generator_parameters

Value = bool | int | float | str
"""A number, or the name of an axis whose size is meant."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One call of a generator, or of the reference's own function on inputs made before."""

    function: str
    parameters: tuple[tuple[str, Value], ...] = ()
    inputs: tuple[str, ...] = ()
    """Names of inputs that are passed by position; only for functions of the reference."""
    part: str | int | None = None
    """Which of several results: a key of the generator's dict, or a position in the function's tuple."""
    computed: bool = False
    label: str = ""
    """Tells two calls with equal parameters apart."""

    def __getitem__(self, part: str | int) -> Drawn:
        return replace(self, part=part)


class _Draw:
    """``draw.NAME(parameter=value)`` for every function of ``generators/`` and ``formats/``."""

    def __getattr__(self, name: str) -> Callable[..., Drawn]:
        if name.startswith("_") or name not in generator_names():
            known = ", ".join(sorted(generator_names()))
            raise InputError(f"there is no generator '{name}'", remedy=f"Known: {known}.")

        def call(*, label: str = "", **parameters: Value) -> Drawn:
            unknown = parameters.keys() - set(generator_parameters(name))
            if unknown:
                raise InputError(
                    f"the generator '{name}' has no parameter {', '.join(sorted(unknown))}",
                    remedy=f"It has: {', '.join(generator_parameters(name))}.",
                )
            return Drawn(name, tuple(parameters.items()), label=label)

        return call


draw = _Draw()


def computed(function: str, *inputs: str) -> Drawn:
    """What a function of the reference makes of other inputs: tensors that a forward pass saved.

    The inputs must stand above this one. A function with several results is indexed: ``computed(…)[1]``.
    """
    return Drawn(function, inputs=inputs, computed=True)
