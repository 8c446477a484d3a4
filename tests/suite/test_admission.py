"""The admission test lets a sound problem in and says what is wrong with others."""

from __future__ import annotations

import pytest
import torch

from solbench.suite.admission import check_problem, run_float64


def outcomes(source) -> dict[str, str]:
    return {f.gate: f.outcome for f in check_problem(source, bounds="none").findings}


def failure(source, gate: str) -> str:
    (found,) = [f for f in check_problem(source, bounds="none").findings if f.gate == gate]
    assert found.outcome == "failed"
    return found.detail


def test_a_sound_problem_passes_every_gate(problem_file) -> None:
    assert set(outcomes(problem_file()).values()) == {"ok"}


def test_its_bound_is_complete_and_verified(problem_file) -> None:
    check = check_problem(problem_file())
    assert check.verified
    assert {"bound", "bound verified"} <= {finding.gate for finding in check.findings}


def test_bounds_of_all_workloads_are_looked_at_when_asked_for(problem_file) -> None:
    def bound(scope: str) -> str:
        (found,) = [f for f in check_problem(source, bounds=scope).findings if f.gate == "bound"]
        assert found.outcome == "ok"
        return found.detail

    source = problem_file()
    assert bound("two").count("µs") == 2
    assert bound("all") == "3 workloads"


def test_an_input_that_nothing_depends_on_is_found(problem_file) -> None:
    source = problem_file("x * w * factor", "x * 2.0 + 0.0 * w * factor")
    assert failure(source, "inputs read") == "no output depends on w, factor"


def test_a_copied_input_is_found(problem_file) -> None:
    source = problem_file("x * w * factor", "x + 1e-9 * w * factor")
    assert "a copy of x passes" in failure(source, "null answers")


def test_a_constant_output_is_found(problem_file) -> None:
    source = problem_file("x * w * factor", "x * 0.0 + 0.0 * w + factor")
    assert "y: mean passes" in failure(source, "null answers")
    assert "does not change with the seed" in failure(source, "seeds")


def test_rows_that_hang_on_ties_are_found(problem_file) -> None:
    """Each row takes the larger of two sums of the same numbers, and their sign follows from which it was."""
    tied = "x * w * factor * (1.0 - 2.0 * torch.stack([x.sum(-1), x.flip(-1).sum(-1)], -1).argmax(-1, True))"
    detail = failure(problem_file("x * w * factor", tied), "choices")
    assert "rows follow from choices between values that all but tie" in detail


def test_an_output_that_loses_the_inputs_precision_is_found(problem_file) -> None:
    """A reference that rounds to bfloat16 before it computes leaves room for cheaper kernels."""
    source = problem_file("x * w * factor", "x.bfloat16().float() * w.bfloat16().float() * factor")
    assert "next lower precision passes" in failure(source, "faults")


def test_a_problem_without_other_values_says_why(problem_file) -> None:
    without = ("draw.normal(std=2.0), EVERY_KIND", "draw.normal(std=2.0)")
    reason = ("    outputs=", '    fixed_values="they are what they are",\n    outputs=')
    assert "does not say why" in failure(problem_file(*without), "other values")
    assert outcomes(problem_file(*without, *reason))["other values"] == "ok"


def test_a_reference_that_is_unsound_on_other_values_is_found(problem_file) -> None:
    """Thinned out, it divides zero by zero."""
    source = problem_file("x * w * factor", "x * w * factor * (x / x)")
    assert "sparsity: y has NaN" in failure(source, "other values")


def test_a_wrong_declared_dtype_is_found(problem_file) -> None:
    source = problem_file('"y": "float32[', '"y": "bfloat16[')
    assert "declared bfloat16" in failure(source, "smoke")


def test_a_failing_reference_is_a_finding(problem_file) -> None:
    source = problem_file("x * w * factor", "x @ w.nothing")
    assert "nothing" in failure(source, "smoke")


def test_an_input_that_is_too_large_is_found(problem_file) -> None:
    source = problem_file("(8, 32)", "(8000, 3200)")
    assert "more than 16777216" in failure(source, "sizes")


def test_a_backward_problem_must_agree_with_autograd(problem_file) -> None:
    replacements = (
        "smoke=rows(",
        'direction="backward",\n    gradient=Gradient("forward", ("x", "w"), ("g",), ("x",)),\n    smoke=rows(',
        "import EVERY_KIND, Model,",
        "import EVERY_KIND, Gradient, Model,",
        '"factor": scalar("float32", 0.5),',
        '"g": activation("float32[tokens, hidden]", draw.normal()),',
        "run(x, w, factor):\n    return x * w * factor",
        "forward(x, w):\n    return x * x * w\n\n\ndef run(x, w, g):\n    return g * 2.0 * x * w",
    )
    assert outcomes(problem_file(*replacements))["gradients"] == "ok"
    wrong = problem_file(*replacements, "g * 2.0", "g * 2.001")
    assert "y differs from autograd by 0.0005" in failure(wrong, "gradients")


def test_a_bound_that_prices_float32_work_behind_16_bit_inputs_is_found(problem_file) -> None:
    """A kernel may round the softmax's weights to 16 bits before the second product, and pass."""
    source = problem_file(
        '"x": activation("float32', '"x": activation("bfloat16',
        '"y": "float32[', '"y": "bfloat16[',
        "x * w * factor", "(torch.softmax(x.float() @ x.float().T, -1) @ x.float() * w * factor).to(x.dtype)",
    )  # fmt: skip
    (bound,) = [f for f in check_problem(source).findings if f.gate == "bound"]
    assert bound.outcome == "failed"
    assert "priced as float32" in bound.detail


def test_float64_reaches_through_casts_and_new_tensors() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(3, dtype=torch.float32)
        return (total + x.to(torch.float32) / 3.0).to(torch.bfloat16)

    result = run_float64(function, {"x": torch.ones(3, dtype=torch.bfloat16)})
    assert result.dtype == torch.float64
    assert result.tolist() == pytest.approx([1 / 3] * 3, rel=1e-15)
