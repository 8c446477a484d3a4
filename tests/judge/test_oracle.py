"""What public problems do that a judge must live with: entrypoints and references of any manners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from solbench.errors import ReferenceFailed
from solbench.judge import _oracle
from solbench.judge._oracle import Oracle
from solbench.spec import Definition, Problem, Workload, make_problem

Make = Callable[..., Oracle]


@pytest.fixture
def oracle() -> Make:
    def make(reference: str, inputs: dict[str, Any] | None = None) -> Oracle:
        definition = {
            "name": "shift",
            "axes": {"n": {"type": "var"}},
            "inputs": {
                "x": {"shape": ["n"], "dtype": "float32"},
                "k": {"shape": None, "dtype": "int32"},
            },
            "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
            "reference": reference,
            "custom_inputs_entrypoint": "draw" if "def draw" in reference else None,
        }
        workload = {"uuid": "w0", "axes": {"n": 4}, "inputs": inputs or {}}
        problem: Problem = make_problem(
            Definition.model_validate(definition), [Workload.model_validate(workload)]
        )
        return Oracle(problem, problem.workloads[0], "cpu")

    return make


def test_an_unlisted_scalar_is_the_same_in_every_call(oracle: Make) -> None:
    made = oracle("def run(x, k):\n    return x + k\n")
    first, second = made.inputs(1), made.inputs(2)
    assert first["k"] == second["k"]
    assert not torch.equal(torch.as_tensor(first["x"]), torch.as_tensor(second["x"]))
    assert made.held_scalars == {}


DRAW = """
import random
import torch
def draw(axes, device):
    return {"x": torch.randn(axes["n"], device=device), "k": random.randrange(2**40)}
def run(x, k):
    return x + k
"""


def test_a_scalar_that_the_entrypoint_draws_anew_keeps_its_first_value(oracle: Make) -> None:
    made = oracle(DRAW, {"x": {"type": "custom"}, "k": {"type": "custom"}})
    first, second = made.inputs(1), made.inputs(2)
    assert list(second) == ["x", "k"]
    assert first["k"] == second["k"] == made.held_scalars["k"]
    assert not torch.equal(torch.as_tensor(first["x"]), torch.as_tensor(second["x"]))


@pytest.mark.parametrize("statement", ["raise SystemExit(2)", "raise KeyError('k')"])
def test_a_reference_that_exits_has_failed(oracle: Make, statement: str) -> None:
    made = oracle(f"def run(x, k):\n    {statement}\n")
    with pytest.raises(ReferenceFailed, match=r"SystemExit: 2|KeyError: 'k'"):
        made.expected(made.inputs(1))


def test_an_entrypoint_that_exits_has_failed(oracle: Make) -> None:
    source = "def draw(axes, device):\n    raise SystemExit(3)\ndef run(x, k):\n    return x\n"
    made = oracle(source, {"x": {"type": "custom"}})
    with pytest.raises(ReferenceFailed, match=r"entrypoint 'draw' of shift failed: SystemExit: 3"):
        made.inputs(1)


def test_what_a_call_sets_in_torch_does_not_outlive_it(oracle: Make) -> None:
    made = oracle(
        "import torch\ndef run(x, k):\n    torch.set_default_dtype(torch.float64)\n"
        "    torch.set_grad_enabled(False)\n    return x\n"
    )
    made.expected(made.inputs(1))
    assert (torch.get_default_dtype(), torch.is_grad_enabled()) == (torch.float32, True)


def test_what_a_reference_prints_while_judged_goes_to_stderr(
    oracle: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    made = oracle("print('loaded')\ndef run(x, k):\n    print('ran')\n    return x\n")
    made.expected(made.inputs(1))
    assert capfd.readouterr().out == ""


def test_float64_that_does_not_fit_on_the_device_is_computed_on_the_host(
    oracle: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, places = oracle("def run(x, k):\n    return x / 3\n"), []
    run = _oracle.run_float64

    def short_of_memory(function: Any, inputs: Any) -> Any:
        places.append(inputs["x"].device.type)
        if places[-1] == "meta":
            raise torch.OutOfMemoryError("tried to allocate 66 GiB")
        return run(function, inputs)

    monkeypatch.setattr(_oracle, "run_float64", short_of_memory)
    made._device = "meta"  # stands in for a GPU
    for _ in range(2):
        made.truth({"x": torch.tensor([1.0, 2.0, 4.0, 8.0]), "k": 1})
    assert places == ["meta", "cpu", "cpu"]
