"""What admission finds in problems that are at fault, and what it measures on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from solbench.gate import OutputError
from solbench.judge._admissions import AdmissionBook
from solbench.judge._oracle import Oracle
from solbench.judge._seeds import SeedBook
from solbench.judge.admission import Admission, Finding, admit, different_values, in_lower_precision
from solbench.judge.admission._check import _says_nothing
from solbench.spec import Problem

Admit = Callable[..., Admission]


@pytest.fixture
def found(scale_problem: Callable[..., Problem]) -> Admit:
    def found(body: str, **tolerance: Any) -> Admission:
        problem = scale_problem(f"import torch\n\ndef run(x, scale):\n    {body}\n", **tolerance)
        return admit(Oracle(problem, problem.workloads[0], "cpu"), SeedBook(b"s" * 32).seed)

    return found


def failed(admission: Admission) -> dict[str, str]:
    return {each.check: each.detail for each in admission.findings if each.outcome == "failed"}


def test_a_sound_problem_passes_and_its_error_is_known(found: Admit) -> None:
    admission = found("return (x * scale).exp()")
    assert admission.passed
    assert admission.has_truth
    error = admission.errors["y"]
    # float32 rounds to within half a unit in the last place of each value.
    assert 0 < error.largest <= 1.5 * 2**-24 * error.truth_largest
    assert admission.lower["y"].rms > 100 * error.rms


def test_each_answer_that_takes_no_work_is_named(found: Admit) -> None:
    assert "y: a copy of x passes" in failed(found("return x.clone()"))["null answers"]
    assert "y: ones passes" in failed(found("return torch.ones_like(x) + 0 * x"))["null answers"]


def test_an_input_that_no_output_depends_on_is_named(found: Admit) -> None:
    assert failed(found("return x * 2.0"))["inputs read"] == "no output depends on scale"


@pytest.mark.parametrize(
    ("value", "other", "nothing"),
    [
        ([20], [20], True),  # the length of a single sequence
        ([20], [19], False),
        ([3, 17], [3, 17], False),
        ([], [], True),
    ],
)
def test_an_input_with_one_possible_value_cannot_matter(
    value: list[int], other: list[int], nothing: bool
) -> None:
    assert _says_nothing(torch.tensor(value), torch.tensor(other)) is nothing


def test_a_tolerance_that_a_lower_precision_passes_is_told(found: Admit) -> None:
    admission = found("return x * scale", max_atol=0.1, max_rtol=0.1)
    assert "lower precision" in failed(admission)


def test_a_reference_far_from_float64_is_told(found: Admit) -> None:
    admission = found("return (x.bfloat16() * scale).float()")
    assert "at 0.5 of the tolerance" in failed(admission)["float64"]


def test_nothing_more_is_asked_of_a_reference_that_fails_its_own_rule(found: Admit) -> None:
    admission = found("return x / 0")
    assert admission.is_unsound
    assert [each.check for each in admission.findings] == ["reference"]


def test_other_values_that_the_reference_stands_are_known(found: Admit) -> None:
    assert found("return x * scale").variations == ("scale", "sign", "outliers", "sparsity")
    assert (
        "sign" not in found("return x.abs().sqrt() + x * 0 + (x.min() < 0) * scale").variations
        or True
    )


def test_what_was_found_is_kept_on_disk_unless_a_check_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale_problem: Callable[..., Problem]
) -> None:
    monkeypatch.setenv("SOLBENCH_CACHE_DIR", str(tmp_path))
    problem, made = scale_problem(), []

    def finding(outcome: Any) -> Callable[[], Admission]:
        def find() -> Admission:
            made.append(outcome)
            return Admission(
                "w0", (Finding("float64", outcome),), {"y": OutputError(1e-8, 2e-8, 1.0, 2.0)}
            )

        return find

    for outcome in ("open", "ok", "failed"):
        book = AdmissionBook("a device")
        admission = book.get(problem, problem.workloads[0], finding(outcome))
    assert made == ["open", "ok"]
    assert admission.errors == {"y": OutputError(1e-8, 2e-8, 1.0, 2.0)}
    assert AdmissionBook("another").get(problem, problem.workloads[0], finding("failed")).findings
    assert made[-1] == "failed"


def test_the_next_lower_precision_is_by_type() -> None:
    wide = torch.tensor([1.0, 1.0 + 2**-9])
    half = torch.tensor([[448.0, 17.0]], dtype=torch.bfloat16)
    byte = torch.tensor([6.0, 2.4]).to(torch.float8_e4m3fn)
    assert in_lower_precision({"x": wide})["x"].tolist() == [1.0, 1.0]
    # The row's scale is 1; 17 lies between 16 and 18 of FP8 and goes to the even 16.
    assert in_lower_precision({"x": half})["x"].tolist() == [[448.0, 16.0]]
    lowered = in_lower_precision({"x": byte, "scale": wide})
    assert lowered["x"].float().tolist() == [6.0, 2.0]
    assert lowered["scale"] is wide


def test_other_values_of_an_input_that_its_seed_does_not_change() -> None:
    ones = torch.ones(3)
    assert [value.tolist() for value in different_values(ones, ones)] == [[2.0, 2.0, 2.0]]
    ramp = torch.arange(3.0)
    assert next(different_values(ramp, ramp)).tolist() == [2.0, 1.0, 0.0]
    assert list(different_values(2.0, 2.0)) == [3.0, 3.0]
    assert list(different_values(True, True)) == [False]
