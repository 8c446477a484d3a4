"""What the tests of the analysis share: a plain function and its inputs → demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from solbench.bound import Demand, analyse, capture, function_program

Function = Callable[..., Any]
DemandOf = Callable[..., Demand]


@pytest.fixture
def demand_of() -> DemandOf:
    def derive(function: Function, *inputs: Any) -> Demand:
        graph, rung = capture(function_program(function, inputs))
        demand = analyse(graph, rung)
        assert demand.unknown_ops == ()
        return demand

    return derive
