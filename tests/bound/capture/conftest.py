"""The judgement that all tests of capture share."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from solbench.bound._programs import function_program
from solbench.bound._replay import replay
from solbench.bound.capture import capture, run_program


def _assert_exact(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """Replaying the graph gives what the program returns, and what it leaves in its inputs."""
    graph, _ = capture(_copied(function, inputs))
    run = run_program(_copied(function, inputs))
    assert list(graph.inputs) == list(run.inputs)
    expected = dict(run.outputs)
    replayed = dict(replay(graph, run.inputs))
    returned = [name for name in expected if not name.startswith("input:")]
    assert [name for name in replayed if not name.startswith("input:")] == returned
    for name, tensor in expected.items():
        source = name.removeprefix("input:")
        got = replayed[name] if name in replayed else run.inputs[source]
        torch.testing.assert_close(got, tensor, equal_nan=True, msg=lambda m, n=name: f"{n}: {m}")
    _assert_well_formed(graph)


def _copied(function: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    return function_program(copy.deepcopy(function), copy.deepcopy(inputs))


def _assert_well_formed(graph: Any) -> None:
    """Every value has one producer, made before it is read."""
    made = set(graph.inputs.values()) | set(graph.constants)
    for node in graph.nodes:
        assert set(node.refs()) <= made, node
        assert not made & set(node.results()), node
        made |= set(node.results())
    assert {value for _, value in graph.outputs} <= made


@pytest.fixture
def assert_exact() -> Callable[..., None]:
    return _assert_exact
