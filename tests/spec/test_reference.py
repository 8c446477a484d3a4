from __future__ import annotations

import inspect
import linecache
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solbench.errors import ReferenceFailed
from solbench.spec import (
    Problem,
    contained,
    load_entrypoint,
    load_problem,
    load_reference,
    reference_failure,
    reference_file,
)

Load = Callable[[str], Problem]


@pytest.fixture
def load(write_problem: Callable[..., Path], definition: Any, workload: Any) -> Load:
    def with_reference(source: str) -> Problem:
        definition["reference"] = source
        return load_problem(write_problem(definition, workload))

    return with_reference


def test_run_is_callable_and_executed_once(load: Load) -> None:
    problem = load("calls = []\ndef run(x, factor):\n    calls.append(x)\n    return len(calls)\n")
    assert load_reference(problem)(1, 2) == 1
    assert load_reference(problem)(1, 2) == 2  # the same module, as with an import


def test_tracebacks_show_the_line_of_the_reference(load: Load) -> None:
    problem = load("def run(x, factor):\n    return x / factor  # here\n")
    run = load_reference(problem)
    linecache.checkcache()
    with pytest.raises(ZeroDivisionError) as caught:
        run(1, 0)
    text = "".join(traceback.format_exception(caught.value))
    assert "<reference of scale_rows" in text
    assert "return x / factor  # here" in text


def test_its_source_can_be_inspected(load: Load) -> None:
    source = "def run(x, factor):\n    return x\n"
    assert inspect.getsource(load_reference(load(source))) == source


def test_dataclasses_and_odd_escapes_in_the_reference_work(load: Load) -> None:
    problem = load(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass A:\n    x: int\n"
        "PATTERN = '\\d'\n"
        "def run(x, factor):\n    return A(x)\n"
    )
    assert load_reference(problem)(5, None).x == 5


def test_a_reference_file_of_the_same_text_gives_the_file_name(
    public_form: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "problem"
    shutil.copytree(public_form / "norm_project", folder)
    problem = load_problem(folder)
    file = folder / "reference.py"
    assert inspect.unwrap(load_reference(problem)).__code__.co_filename == str(file.resolve())
    file.write_text(file.read_text() + "# changed\n")
    assert reference_file(problem).startswith("<reference of norm_project_d16")


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (
            "import absent_module\ndef run(x, factor): pass",
            r"ModuleNotFoundError: No module named 'absent_module' \(line 1: import absent_module\)",
        ),
        ("def run(x, factor): pass\nraise SystemExit(3)", r"SystemExit: 3 \(line 2"),
        ("run = 3", "defines no function 'run'"),
        ("def run(x, factor): pass\nreturn 1", "SyntaxError"),
    ],
)
def test_a_reference_that_cannot_be_loaded_says_where(load: Load, source: str, what: str) -> None:
    problem = load(source)
    for _ in range(2):  # a failed module is not kept
        with pytest.raises(ReferenceFailed, match=what):
            load_reference(problem)


def test_an_interrupt_passes_through(load: Load) -> None:
    problem = load("def run(x, factor): pass\nraise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_reference(problem)


def test_the_entrypoint_shares_the_module_of_run(public_form: Path) -> None:
    problem = load_problem(public_form / "custom_gather")
    entrypoint = load_entrypoint(problem)
    assert entrypoint is not None
    assert entrypoint.__globals__ is load_reference(problem).__globals__
    assert load_entrypoint(load_problem(public_form / "packed_blob")) is None


def test_settings_of_torch_hold_during_the_reference_only(load: Load) -> None:
    import torch

    problem = load(
        "import torch\ntorch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\n"
        "torch.set_default_device('meta')\n"
        "def run(x, factor):\n"
        "    made = torch.ones(2)\n"
        "    return made.dtype, made.device.type, torch.is_grad_enabled()\n"
    )
    run = load_reference(problem)
    assert run(1, 2) == (torch.float64, "meta", False)
    made = torch.ones(2)
    assert (made.dtype, made.device.type, torch.is_grad_enabled()) == (torch.float32, "cpu", True)


def test_a_failing_call_names_the_line(load: Load) -> None:
    problem = load("def run(x, factor):\n    return x / factor\n")
    with pytest.raises(ZeroDivisionError) as caught:
        load_reference(problem)(1, 0)
    assert str(reference_failure(problem, caught.value)) == (
        "the reference of scale_rows failed: ZeroDivisionError: division by zero "
        "(line 2: return x / factor)"
    )


def test_what_a_reference_prints_is_no_result(
    load: Load, capfd: pytest.CaptureFixture[str]
) -> None:
    problem = load("print('loading')\ndef run(x, factor):\n    print('running')\n    return x\n")
    with contained():
        load_reference(problem)(1, 2)
    assert capfd.readouterr() == ("", "loading\nrunning\n")


def test_a_reference_that_wants_a_gpu_says_what_to_do(load: Load) -> None:
    problem = load("def run(x, factor):\n    return x\n")
    without = AssertionError("Torch not compiled with CUDA enabled")
    assert str(reference_failure(problem, without)).endswith("It needs a GPU: use device cuda:0")
