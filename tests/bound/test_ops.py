"""Listing rules and the coverage of programs; loading rules of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from solbench.bound import (
    coverage,
    derive_bound,
    function_program,
    list_rules,
    load_rules,
    rules_digest,
)
from solbench.bound.rules import RULES
from solbench.errors import InputError


def t(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, device="meta")


@pytest.fixture(autouse=True)
def _rules_as_they_were() -> Iterator[None]:
    before = dict(RULES)
    yield
    RULES.clear()
    RULES.update(before)


def test_every_rule_is_listed_with_its_file_and_overloads() -> None:
    rules = {rule.op: rule for rule in list_rules()}
    assert set(rules) == set(RULES)
    product = rules["aten.mm"] if "aten.mm" in rules else rules["aten.mm.default"]
    assert product.family == "matmul"
    assert "aten.mm.default" in product.overloads
    assert not any(name.endswith("out") for name in product.overloads)


def test_more_than_250_overloads_have_a_rule() -> None:
    assert len({name for rule in list_rules() for name in rule.overloads}) >= 250


def test_coverage_counts_calls_and_names_what_has_no_rule() -> None:
    known = function_program(lambda a, b: torch.relu(a @ b) @ b, (t(4, 4), t(4, 4)), name="known")
    unknown = function_program(
        lambda x: x.put(torch.tensor([0]), x[0, :1]), (t(4, 4),), name="unknown"
    )
    found = coverage([known, unknown])
    uses = {use.op: use for use in found.uses}
    assert (uses["aten.mm.default"].calls, uses["aten.mm.default"].programs) == (2, 1)
    assert [use.op for use in found.uncovered] == ["aten.put.default"]
    assert found.uses[0].op == "aten.put.default"  # what is missing comes first
    assert (found.programs, found.failed) == (2, ())


def test_a_program_that_cannot_be_captured_is_listed() -> None:
    wrong = function_program(lambda a: a.reshape(3), (t(4),), name="wrong")
    ((name, reason),) = coverage([wrong]).failed
    assert name == "wrong"
    assert "reshape" in reason


PUT = '''
from collections.abc import Iterable

from solbench.bound._lifted import Lifted
from solbench.bound.rules import Call, rule


@rule("aten.put.default")
def put(call: Call) -> Iterable[Lifted]:
    """Anything may land anywhere."""
    yield call.everything()
'''


def test_a_rule_of_ones_own_is_used_once_it_is_loaded(tmp_path: Path) -> None:
    program = function_program(lambda x: x.put(torch.tensor([0]), x[0, :1]), (t(4, 4),))
    assert not derive_bound(program)[0].complete
    (tmp_path / "put.py").write_text(PUT)
    assert load_rules(tmp_path) == ("aten.put.default",)
    assert load_rules(tmp_path) == ("aten.put.default",)  # a folder is loaded once
    assert derive_bound(program)[0].complete


def test_a_second_rule_for_an_operation_is_refused_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    (tmp_path / "first.py").write_text(PUT.replace("aten.put.default", "aten.mm"))
    (tmp_path / "second.py").write_text(PUT)
    before = dict(RULES)
    with pytest.raises(InputError, match=r"first\.py"):
        load_rules(tmp_path)
    assert before == RULES


def test_the_digest_of_rules_follows_names_contents_and_order_and_runs_nothing(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
        (folder / "rule.py").write_text("raise ValueError")
    assert rules_digest([]) == ""
    both = rules_digest(folders[:1])
    assert both == rules_digest(folders[1:])
    assert rules_digest(folders) != both
    (folders[1] / "rule.py").write_text("raise KeyError")
    assert rules_digest(folders[1:]) != both
    (folders[0] / "rule.py").rename(folders[0] / "other.py")
    assert rules_digest(folders[:1]) != both
    with pytest.raises(InputError, match="no folder with rules"):
        rules_digest([tmp_path / "nowhere"])


def test_a_folder_without_rules_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder with rules"):
        load_rules(tmp_path / "nowhere")
    (tmp_path / "helper.py").write_text("answer = 42\n")
    for _ in range(2):
        with pytest.raises(InputError, match="none of its files has a rule"):
            load_rules(tmp_path)
