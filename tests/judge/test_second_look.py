"""Honest solutions that sum or divide in another way pass; whoever chooses wrongly does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from solbench.gate import GateResult
from solbench.judge import Budget, LocalJudge, StopRule
from solbench.judge._oracle import Oracle
from solbench.judge.admission import NULL_ANSWERS, Admission, admit
from solbench.spec import Definition, Problem, Solution, Workload, make_problem

pytestmark = pytest.mark.xdist_group("judge_process")

Outputs = dict[str, torch.Tensor]
TOKENS, HIDDEN, EXPERTS, TIED = 300, 64, 16, 3

# The first tokens lie as near to the first expert as to the second, but for rounding, and nearest to these two.
ROUTER = """
import torch

def run(x, gate):
    best = torch.softmax(x @ gate.T, dim=-1).topk(4, dim=-1)
    return best.values / best.values.sum(dim=-1, keepdim=True), best.indices.to(torch.int32)

def make_inputs(axes, device):
    x = torch.randn(axes["tokens"], axes["hidden"], device=device)
    gate = torch.randn(axes["experts"], axes["hidden"], device=device) / axes["hidden"] ** 0.5
    one, other = gate[0], gate[1]
    apart, tied = one - other, x[: axes["tied"]]
    tied -= (tied @ apart)[:, None] * apart / (apart @ apart)
    both = one + other - ((one + other) @ apart) * apart / (apart @ apart)
    tied += 6.0 * both
    return {"x": x, "gate": gate}
"""

# Its output follows from a choice that it does not tell.
LAYER = ROUTER.replace(
    """    return best.values / best.values.sum(dim=-1, keepdim=True), best.indices.to(torch.int32)
""",
    """    return gate.cos()[best.indices[:, 0]] * 3.0 + gate.sin()[best.indices[:, 1]]
""",
)
WEIGHTS = {
    "weights": {"shape": ["tokens", "k"], "dtype": "float32"},
    "indices": {"shape": ["tokens", "k"], "dtype": "int32"},
}
ROWS = {"y": {"shape": ["tokens", "hidden"], "dtype": "float32"}}


def problem(
    reference: str,
    outputs: dict[str, Any],
    tied: int = TIED,
    own: bool = True,
    tokens: int = TOKENS,
) -> Problem:
    sizes = {"hidden": HIDDEN, "experts": EXPERTS, "k": 4, "tied": tied}
    definition = {
        "name": "router",
        "axes": {
            "tokens": {"type": "var"},
            **{name: {"type": "const", "value": size} for name, size in sizes.items()},
        },
        "inputs": {
            "x": {"shape": ["tokens", "hidden"], "dtype": "float32"},
            "gate": {"shape": ["experts", "hidden"], "dtype": "float32"},
        },
        "outputs": outputs,
        "custom_inputs_entrypoint": "make_inputs",
        "reference": reference,
        **({"solbench": {"tier": "L1", "direction": "forward"}} if own else {}),
    }
    custom = {"x": {"type": "custom"}, "gate": {"type": "custom"}}
    strict = {"required_matched_ratio": 1.0}
    workload = {"uuid": "w", "axes": {"tokens": tokens}, "inputs": custom, "tolerance": strict}
    return make_problem(Definition.model_validate(definition), [Workload.model_validate(workload)])


def oracle_of(made: Problem) -> tuple[Oracle, Admission]:
    oracle = Oracle(made, made.workloads[0], "cpu")
    return oracle, admit(oracle, lambda number: 1000 + number)


class Call:
    """One call, its inputs and what the reference makes of them."""

    def __init__(self, oracle: Oracle, seed: int) -> None:
        self.oracle = oracle
        self.inputs = oracle.inputs(seed)
        self.expected = oracle.expected(self.inputs)
        self.truth = oracle.truth(self.inputs)

    def plainly(self, outputs: Outputs) -> GateResult:
        """Without a second look."""
        return self.oracle.rule.calls([outputs], [self.expected], self.oracle.errors)[0]

    def judged(self, outputs: Outputs) -> list[bool]:
        """Beside the reference, and beside float64."""
        call = (outputs, self.expected, self.truth, self.oracle.errors)
        gates = self.oracle.compare([outputs], [self.expected], [self.inputs])
        return [gates[0].passed, self.oracle.exactly(self.inputs, *call).gate.passed]


def in_pieces(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    """The scores, summed from the end and eight terms at a time."""
    pieces = range(HIDDEN - 8, -1, -8)
    return sum((x[:, at : at + 8] @ gate[:, at : at + 8].T for at in pieces), torch.zeros(()))


def weights_and_indices(scores: torch.Tensor) -> Outputs:
    best = torch.softmax(scores, dim=-1).topk(4, dim=-1)
    weights = best.values / best.values.sum(dim=-1, keepdim=True)
    return {"weights": weights, "indices": best.indices.to(torch.int32)}


def rows_of_experts(scores: torch.Tensor, gate: torch.Tensor) -> Outputs:
    best = torch.softmax(scores, dim=-1).topk(4, dim=-1).indices
    return {"y": gate.cos()[best[:, 0]] * 3.0 + gate.sin()[best[:, 1]]}


@pytest.fixture(scope="module")
def router() -> tuple[Oracle, Admission]:
    return oracle_of(problem(ROUTER, WEIGHTS))


@pytest.fixture(scope="module")
def layer() -> tuple[Oracle, Admission]:
    return oracle_of(problem(LAYER, ROWS))


def test_a_problem_with_a_few_ties_is_admitted(router: Any, layer: Any) -> None:
    for _, admission in (router, layer):
        assert admission.passed, admission.reasons()
        assert {"choices", "null answers"} <= {each.check for each in admission.findings}


def test_ties_are_no_error_of_the_reference(layer: Any) -> None:
    """float64 chooses otherwise in some tied rows, which differ by about 1; that must not become room."""
    oracle, _ = layer
    raw = 0.0
    for seed in range(10):
        call = Call(oracle, seed)
        raw = max(raw, float((call.truth["y"] - call.expected["y"]).abs().max()))
        settled = oracle.settled(call.inputs, call.expected, call.truth)
        assert float((settled["y"] - call.expected["y"]).abs().max()) < 1e-5
    assert raw > 0.1
    assert oracle.errors["y"].largest < 1e-5


def test_a_solution_that_sums_in_another_order_passes(router: Any, layer: Any) -> None:
    accused = 0
    for seed in range(20):
        call = Call(router[0], seed)
        scores = in_pieces(call.inputs["x"], call.inputs["gate"])
        answer = weights_and_indices(scores)
        accused += not call.plainly(answer).passed
        assert call.judged(answer) == [True, True]
        follows = Call(layer[0], seed)
        assert follows.judged(rows_of_experts(scores, follows.inputs["gate"])) == [True, True]
    assert accused > 3  # else this test would show nothing
    assert router[0].other_choices.rows >= accused
    assert "follow from values that all but tie" in router[0].other_choices.in_words()


def swapped(expected: Outputs, token: int) -> Outputs:
    indices = expected["indices"].clone()
    indices[token, :2] = indices[token, :2].flip(0)
    return {**expected, "indices": indices}


def test_a_solution_that_swaps_two_experts_that_are_well_apart_fails(router: Any) -> None:
    for seed in range(10):
        call = Call(router[0], seed)
        assert call.judged(swapped(call.expected, TOKENS - 1 - seed)) == [False, False]


def test_what_a_tie_excuses_is_that_tie_alone(router: Any) -> None:
    """Tied tokens beside one that is wrong, another expert in a tied token, or one expert twice."""
    call = Call(router[0], 0)
    turned = swapped(call.expected, 0)
    assert call.judged(turned) == [True, True]
    assert call.judged(swapped(turned, TOKENS - 1)) == [False, False]
    for change in (lambda row: row.roll(1), lambda row: row[[0, 0, 2, 3]], lambda row: row * 0):
        wrong = {**call.expected, "indices": turned["indices"].clone()}
        wrong["indices"][0] = change(wrong["indices"][0])
        assert call.judged(wrong) == [False, False]


def test_experts_at_random_in_tokens_without_a_tie_fail() -> None:
    oracle, _ = oracle_of(problem(LAYER, ROWS, tied=1))
    generator = torch.Generator().manual_seed(3)
    for seed in range(5):
        call = Call(oracle, seed)
        other = call.expected["y"].clone()
        token = int(torch.randint(2, TOKENS, (), generator=generator))
        other[token] = call.expected["y"][token - 1]
        assert call.judged({"y": other}) == [False, False]


def test_a_problem_whose_ties_decide_more_than_one_row_in_a_hundred_is_refused() -> None:
    # Four rows of 300 may hang on a tie; 40 do.
    _, admission = oracle_of(problem(LAYER, ROWS, tied=40))
    assert not admission.passed
    assert "of 300 rows follow from choices between values that all but tie, 4 may" in (
        admission.reasons()
    )


def test_answers_that_take_no_work_fail_on_a_single_tied_row_too() -> None:
    oracle, admission = oracle_of(problem(LAYER, ROWS, tied=1, tokens=1))
    assert admission.passed, admission.reasons()
    call = Call(oracle, 5)
    for answer in NULL_ANSWERS.values():
        assert call.judged({"y": answer(call.expected["y"])}) == [False, False]


def test_the_public_rule_knows_no_second_look() -> None:
    made = problem(ROUTER, WEIGHTS, own=False)
    oracle = Oracle(made, made.workloads[0], "cpu")
    call = Call(oracle, 0)
    answer = swapped(call.expected, 0)
    assert call.judged(answer) == [False, False]
    assert oracle.settled(call.inputs, call.expected, call.truth) is call.truth


def test_where_inputs_are_written_there_is_no_second_look() -> None:
    made = problem(ROUTER.replace("    best =", "    x.mul_(1.0)\n    best ="), WEIGHTS)
    oracle, _ = oracle_of(made)
    call = Call(oracle, 0)
    assert call.judged(swapped(call.expected, 0)) == [False, False]


QUANTISED = """
import torch

def run(x, gate):
    scales = x.abs().amax(dim=-1, keepdim=True) / 448.0
    codes = (x / scales).to(torch.float8_e4m3fn).to(torch.float32)
    return codes @ gate.T * scales

def make_inputs(axes, device):
    x = torch.randn(axes["tokens"], axes["hidden"], device=device).bfloat16().float()
    gate = torch.randn(axes["experts"], axes["hidden"], device=device) / axes["hidden"] ** 0.5
    return {"x": x, "gate": gate}
"""
PRODUCT = {"y": {"shape": ["tokens", "experts"], "dtype": "float32"}}


def quantised(
    x: torch.Tensor, gate: torch.Tensor, factor: Callable[[torch.Tensor], Any]
) -> Outputs:
    largest = x.abs().amax(dim=-1, keepdim=True)
    codes = factor(largest).to(torch.float8_e4m3fn).to(torch.float32)
    return {"y": codes @ gate.T * (largest / 448.0)}


def test_a_solution_that_multiplies_by_the_reciprocal_of_a_scale_passes() -> None:
    """Values of bfloat16 divided by the largest of their row often lie exactly halfway between two codes."""
    oracle, _ = oracle_of(problem(QUANTISED, PRODUCT, tokens=8))
    accused = 0
    for seed in range(30):
        call = Call(oracle, seed)
        x, gate = call.inputs["x"], call.inputs["gate"]
        answer = quantised(x, gate, lambda largest, x=x: x * (448.0 / largest))
        accused += not call.plainly(answer).passed
        assert call.judged(answer) == [True, True]
        cut = quantised(x, gate, lambda largest, x=x: x * (448.0 / largest) * 0.95)
        assert call.judged(cut) == [False, False]
    assert accused > 0  # else this test would show nothing
    assert oracle.other_choices.rounded > 0


SUBMISSION = """
import torch

def run(x, gate, weights, indices):
    pieces = range(x.shape[1] - 8, -1, -8)
    scores = sum(x[:, at : at + 8] @ gate[:, at : at + 8].T for at in pieces)
    best = torch.softmax(scores, dim=-1).topk(4, dim=-1)
    indices.copy_(best.indices)
    weights.copy_(best.values / best.values.sum(dim=-1, keepdim=True))
"""


def submission(more: str = "") -> Solution:
    spec = {"languages": ["pytorch"], "target_hardware": ["LOCAL"], "entry_point": "s.py::run"}
    return Solution.model_validate(
        {
            "name": "submission",
            "definition": "router",
            "author": "tests",
            "spec": spec,
            "sources": [{"path": "s.py", "content": SUBMISSION + more}],
        }
    )


def test_a_verdict_says_what_was_excused() -> None:
    brief = StopRule(minimum=10, least=10, few=10, seconds=0.05, relative=0.05)
    wrong = "    indices[-1] = indices[-1].roll(1)\n"
    with LocalJudge("cpu", budgets={"reward": Budget(brief, brief)}) as judge:
        made = problem(ROUTER, WEIGHTS, tied=1)
        (honest,) = judge.evaluate(made, submission()).traces
        (cheat,) = judge.evaluate(made, submission(wrong)).traces
    assert honest.evaluation.status == "PASSED", honest.evaluation.log
    assert honest.solbench is not None
    # Dozens of calls, each with a tied token that goes either way.
    assert "near_ties" in {flag.id for flag in honest.solbench.flags}
    assert cheat.evaluation.status == "INCORRECT_NUMERICAL"
