"""Our own problems: error budgets, weights that stay, other values mixed in, and admission before judging."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from solbench.judge import Budget, EvaluationResult, LocalJudge, StopRule
from solbench.spec import Definition, Problem, Solution, Workload, make_problem

pytestmark = pytest.mark.xdist_group("judge_process")

BRIEF = StopRule(minimum=10, least=4, few=4, seconds=0.05, relative=0.05)

LINEAR = """
import torch

def run(x, weight):
    return x @ weight

def make_inputs(axes, device):
    rows, width = axes["rows"], axes["width"]
    return {
        "x": torch.randn(rows, width, device=device),
        "weight": torch.randn(width, width, device=device) / width**0.5,
    }
"""


def linear(reference: str = LINEAR, **own: Any) -> Problem:
    definition = {
        "name": "linear",
        "axes": {"rows": {"type": "var"}, "width": {"type": "const", "value": 64}},
        "inputs": {
            "x": {"shape": ["rows", "width"], "dtype": "float32"},
            "weight": {"shape": ["width", "width"], "dtype": "float32"},
        },
        "outputs": {"y": {"shape": ["rows", "width"], "dtype": "float32"}},
        "custom_inputs_entrypoint": "make_inputs",
        "reference": reference,
        "solbench": {"tier": "L1", "direction": "forward", "weights": ["weight"], **own},
    }
    workload = {
        "uuid": "w",
        "axes": {"rows": 48},
        "inputs": {"x": {"type": "custom"}, "weight": {"type": "custom"}},
    }
    return make_problem(Definition.model_validate(definition), [Workload.model_validate(workload)])


def solution(body: str) -> Solution:
    return Solution.model_validate(
        {
            "name": "submission",
            "definition": "linear",
            "author": "tests",
            "spec": {
                "languages": ["pytorch"],
                "target_hardware": ["LOCAL"],
                "entry_point": "s.py::run",
            },
            "sources": [{"path": "s.py", "content": f"import torch\n{body}"}],
        }
    )


HONEST = solution("def run(x, weight, y):\n    torch.mm(x, weight, out=y)\n")
BFLOAT16 = solution("def run(x, weight, y):\n    y.copy_(x.bfloat16() @ weight.bfloat16())\n")
PREPACKED = solution(
    "packed = {}\n"
    "def run(x, weight, y):\n"
    "    kept = packed.setdefault('weight', weight.t().contiguous())\n"
    "    torch.mm(x, kept.t(), out=y)\n"
)


@pytest.fixture(scope="module")
def judge() -> Iterator[LocalJudge]:
    with LocalJudge("cpu", budgets={"reward": Budget(BRIEF, BRIEF)}) as judge:
        yield judge


def only(result: EvaluationResult) -> Any:
    (trace,) = result.traces
    return trace


def test_the_reference_itself_and_its_equals_pass_and_are_audited(judge: LocalJudge) -> None:
    trace = only(judge.evaluate(linear(), HONEST))
    assert trace.evaluation.status == "PASSED"
    assert trace.solbench.admission["passed"]
    precision = trace.solbench.precision
    assert precision["calls"] >= 2
    assert precision["outputs"]["y"]["rms_ratio"] == pytest.approx(1.0, abs=0.2)


def test_a_lower_precision_fails_the_budget_and_is_named(judge: LocalJudge) -> None:
    trace = only(judge.evaluate(linear(), BFLOAT16))
    assert trace.evaluation.status == "INCORRECT_NUMERICAL"
    assert "RMS error" in trace.evaluation.log
    assert "precision_downgrade" in {flag.id for flag in trace.solbench.flags}


def test_where_a_lower_precision_is_allowed_the_audit_accuses_no_one(judge: LocalJudge) -> None:
    wide = {"rms_multiplier": 1e6, "max_multiplier": 1e6, "reason": "test"}
    allowed = linear(gate=wide, policy={"lower_precision": True})
    trace = only(judge.evaluate(allowed, BFLOAT16))
    assert trace.evaluation.status == "PASSED"
    assert "precision_downgrade" not in {flag.id for flag in trace.solbench.flags}


@pytest.mark.parametrize(("allowed", "status"), [(True, "PASSED"), (False, "INCORRECT_NUMERICAL")])
def test_weights_stay_only_where_they_may_be_repacked(
    judge: LocalJudge, allowed: bool, status: str
) -> None:
    problem = linear(policy={"prepacked_weights": allowed})
    assert only(judge.evaluate(problem, PREPACKED)).evaluation.status == status


def test_a_gate_that_a_lower_precision_passes_is_refused(judge: LocalJudge) -> None:
    wide = {"rms_multiplier": 1e6, "max_multiplier": 1e6, "reason": "test"}
    trace = only(judge.evaluate(linear(gate=wide), HONEST))
    assert trace.evaluation.status == "INVALID_REFERENCE"
    assert trace.evaluation.log == "lower precision: inputs of the next lower precision pass"


def test_values_beyond_the_distribution_are_mixed_in(judge: LocalJudge) -> None:
    clipped = solution("def run(x, weight, y):\n    torch.mm(x.clamp(-6, 6), weight, out=y)\n")
    plain, varied = linear(), linear(variations={"outliers": ["x"], "scale": ["x"]})
    assert only(judge.evaluate(plain, clipped)).evaluation.status == "PASSED"
    # Not every power of two gets beyond 6, and a very short measurement may have no outliers.
    found = (only(judge.evaluate(varied, clipped)).evaluation for _ in range(4))
    failed = next(each for each in found if each.status == "INCORRECT_NUMERICAL")
    assert "on other values of its inputs" in failed.log
    assert only(judge.evaluate(varied, HONEST)).evaluation.status == "PASSED"


def test_a_public_problem_with_a_weak_gate_is_judged_with_a_flag_or_refused(
    judge: LocalJudge, scale_problem: Callable[..., Problem]
) -> None:
    loose = scale_problem(max_atol=1e3)
    good = HONEST.model_copy(
        update={
            "definition": "scale",
            "sources": (
                HONEST.sources[0].model_copy(
                    update={"content": "def run(x, s, y):\n    y.copy_(x * s)\n"}
                ),
            ),
        }
    )
    trace = only(judge.evaluate(loose, good))
    assert trace.evaluation.status == "PASSED"
    (flag,) = [flag for flag in trace.solbench.flags if flag.id == "weak_gate"]
    assert "mean passes" in flag.evidence
    refused = only(judge.evaluate(loose, good, require_admission=True))
    assert refused.evaluation.status == "INVALID_REFERENCE"


def test_values_of_a_public_problem_can_only_raise_a_flag(
    judge: LocalJudge, scale_problem: Callable[..., Problem]
) -> None:
    problem = scale_problem()
    sniffing = HONEST.model_copy(
        update={
            "definition": "scale",
            "sources": (
                HONEST.sources[0].model_copy(
                    # Right for values as large as a normal distribution gives, and not all of one sign.
                    update={
                        "content": "def run(x, s, y):\n"
                        "    usual = 0.5 < x.std() < 1.2 and x[0] * 0 == 0 and (x == 0).sum() < 9\n"
                        "    y.copy_(x * s if usual and x.abs().max() < 8 else x)\n"
                    }
                ),
            ),
        }
    )
    # One kind of four is tried each time, by a secret seed, and one of them it does not notice.
    traces = [only(judge.evaluate(problem, sniffing)) for _ in range(9)]
    assert {trace.evaluation.status for trace in traces} == {"PASSED"}
    flags = {flag.id for trace in traces for flag in trace.solbench.flags}
    assert "sensitive_to_values" in flags
