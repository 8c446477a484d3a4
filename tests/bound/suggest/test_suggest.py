"""Asking for a rule: what is compared, what is stored, what is handed back. No walls: the texts are our own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from solbench.bound import function_program
from solbench.bound.graph import Graph
from solbench.bound.rules import RULES
from solbench.bound.suggest import (
    endpoint,
    lifted_documents,
    sample_calls,
    suggest_rule,
    verdict,
)
from solbench.errors import DeviceError, InputError, JailError

OP = "aten.mm.default"
RULE = """
from collections.abc import Iterable
from solbench.bound._lifted import Lifted
from solbench.bound.rules import Call, rule


@rule("aten.mm.default")
def product(call: Call) -> Iterable[Lifted]:
    {body}
"""
GOOD = RULE.format(body='yield call.einsum("ik,kj->ij", "self", "mat2")')
PROGRAM = function_program(
    lambda a, b: a @ b, (torch.empty(16, 24, device="meta"), torch.empty(24, 40, device="meta"))
)


class InProcess:
    """Runs texts of this file right here."""

    def lift(self, text: str, calls: Sequence[Graph]) -> list[Any]:
        RULES.pop(OP, None)
        try:
            return list(lifted_documents(text, calls))
        except Exception as error:
            raise JailError(str(error)) from error


@pytest.fixture(autouse=True)
def _without_the_rule() -> Iterator[None]:
    before = dict(RULES)
    for name in ("aten.mm", OP):
        RULES.pop(name, None)
    yield
    RULES.clear()
    RULES.update(before)


def test_a_wrong_rule_is_handed_back_with_the_reason_until_one_matches(tmp_path: Path) -> None:
    wrong = RULE.format(body='yield call.einsum("ki,jk->ij", "mat2", "self")')
    answers = ["no code", *(f"```python\n{text}```" for text in (wrong, GOOD))]
    questions: list[str] = []

    def ask(question: str) -> str:
        questions.append(question)
        RULES.pop(OP, None)
        return answers.pop(0)

    found = suggest_rule(OP, PROGRAM, ask, InProcess(), tmp_path, model="m", attempts=3)
    assert found.accepted
    assert "block" in found.attempts[0]
    assert "aten.mm.default" in found.attempts[1]
    assert found.attempts[1] in questions[2]
    assert "aten::mm(Tensor self, Tensor mat2)" in questions[0]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("yield call.everything()", "never changes them"),  # the bound would be too large
        ('yield call.lines((1,), argument="self")', ""),
        ("yield call.created()", "do not read"),
        ('yield call.einsum("ik,kj->ji", "self", "mat2")', ""),
        ("return", ""),
        ("yield 1", ""),
        ("raise ValueError('no')", ""),
    ],
)
def test_a_rule_that_does_not_match_is_told_why(body: str, reason: str) -> None:
    samples = sample_calls(PROGRAM, OP)
    try:
        found = verdict(RULE.format(body=body), samples, InProcess())
    except JailError:
        assert not reason
        return
    assert not found.matched
    assert reason in found.reason


def test_samples_are_small_calls_of_several_sizes() -> None:
    samples = sample_calls(PROGRAM, OP)
    shapes = {tuple(tuple(t.shape) for t in each.contents.values()) for each in samples}
    assert len(shapes) == len(samples) >= 2
    assert all(max(shape) <= 9 for pair in shapes for shape in pair)


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "aten_mm_default.py").write_text("mine")
    with pytest.raises(InputError, match="already"):
        suggest_rule(
            OP, PROGRAM, lambda q: f"```python\n{GOOD}```", InProcess(), tmp_path, model="m"
        )
    assert (tmp_path / "aten_mm_default.py").read_text() == "mine"


def test_without_an_endpoint_model_or_key_the_message_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SOLBENCH_LLM_API_KEY", "SOLBENCH_LLM_BASE_URL", "SOLBENCH_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="SOLBENCH_LLM_BASE_URL"):
        endpoint()
    with pytest.raises(InputError, match="SOLBENCH_LLM_MODEL"):
        endpoint("http://127.0.0.1:9")
    with pytest.raises(InputError, match="SOLBENCH_LLM_API_KEY"):
        endpoint("http://127.0.0.1:9", "some")


def test_an_endpoint_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("SOLBENCH_LLM_API_KEY", "none needed")
    monkeypatch.setattr("solbench.bound.suggest._endpoint.TIMEOUT_S", 2.0)
    with pytest.raises(DeviceError, match=r"127\.0\.0\.1:9"):
        endpoint("http://127.0.0.1:9/v1", "some").ask("hello")


def test_an_operation_that_has_a_rule_or_is_not_called_is_refused(tmp_path: Path) -> None:
    for op, reason in (("aten.relu.default", "already"), ("aten.nothing.default", "no operation")):
        with pytest.raises(InputError, match=reason):
            suggest_rule(op, PROGRAM, lambda q: q, InProcess(), tmp_path, model="m")
    with pytest.raises(InputError, match="does not call"):
        sample_calls(PROGRAM, "aten.put.default")
