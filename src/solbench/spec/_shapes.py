"""Sizes: the value of each axis of a workload, and declared shapes with them filled in."""

from __future__ import annotations

from collections.abc import Mapping

from solbench.errors import AxisError
from solbench.spec._axes import resolve_expressions
from solbench.spec._definition import Definition, ExprAxis, TensorSpec
from solbench.spec._workload import Workload


def axis_values(definition: Definition, workload: Workload) -> dict[str, int]:
    """Size of every axis, in declared order; ``AxisError`` names one that has none.

    A workload may override a const axis; an ``expr`` axis it may only repeat.
    """
    known: dict[str, int] = {}
    expressions: dict[str, str] = {}
    for name, axis in definition.axes.items():
        if isinstance(axis, ExprAxis):
            expressions[name] = axis.expression
        elif name in workload.axes:
            known[name] = workload.axes[name]
        elif axis.type == "const":
            known[name] = axis.value
        else:
            raise AxisError(
                f"workload {workload.uuid} gives no value for this axis",
                key=name,
                remedy="Add it to the workload's 'axes'.",
            )
    values = known | resolve_expressions(expressions, known)
    for name in expressions.keys() & workload.axes.keys():
        if workload.axes[name] != values[name]:
            raise AxisError(
                f"workload {workload.uuid} says {workload.axes[name]}, but "
                f"'{expressions[name]}' is {values[name]}",
                key=name,
                remedy="Leave it out of the workload.",
            )
    return {name: values[name] for name in definition.axes}


def declared_shape(tensor: TensorSpec, values: Mapping[str, int]) -> tuple[int, ...] | None:
    """Shape in elements, given the axis values; ``None`` for a Python scalar."""
    if tensor.shape is None:
        return None
    return tuple(values[entry] if entry in values else int(entry) for entry in tensor.shape)
