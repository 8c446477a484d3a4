"""Reviews as a whole: the corpora, hostile sources, what is told and where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from solbench.judge.attacks import AttackCase, HonestCase, load_corpus
from solbench.judge.guard import is_suspicious, review
from solbench.spec import load_problem, load_solution

from .conftest import Reviewed

TESTS = Path(__file__).parents[2]
EXAMPLES = sorted((TESTS.parent / "examples").glob("*/solution*.json"))


@pytest.fixture(scope="module")
def attacks() -> Mapping[str, AttackCase]:
    return load_corpus(TESTS / "attacks" / "cases", AttackCase)


def test_no_honest_solution_is_suspected() -> None:
    suspected = {
        name: [each.evidence for each in found if each.severity != "note"]
        for name, case in load_corpus(TESTS / "honest" / "cases", HonestCase).items()
        if is_suspicious(
            found := review(case.solution.solution(case.problem, name), case.problem.definition)
        )
    }
    assert suspected == {}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_example_is_suspected(path: Path) -> None:
    assert review(load_solution(path), load_problem(path.parent).definition) == ()


def test_most_attacks_are_seen(attacks: Mapping[str, AttackCase]) -> None:
    tried = {name: case for name, case in attacks.items() if case.kind == "attack"}
    seen = [
        name
        for name, case in tried.items()
        if is_suspicious(review(case.attack.solution(case.problem, name), case.problem.definition))
    ]
    share = len(seen) / len(tried)
    print(f"{len(seen)} of {len(tried)} attacks are seen by a static rule ({share:.0%})")
    assert share > 0.85


def test_a_finding_says_where_and_shows_the_line(reviewed: Reviewed) -> None:
    (found,) = reviewed("import torch\n\n\nx = eval('1')\ndef run(x, y):\n    y.copy_(x)\n")
    assert (found.rule, found.severity, found.file, found.line) == (
        "dynamic_code", "alarm", "main.py", 4,
    )  # fmt: skip
    assert found.excerpt == "x = eval('1')"
    assert found.evidence.startswith("main.py:4: eval()")


def test_findings_of_an_embedded_source_have_the_line_of_the_file(reviewed: Reviewed) -> None:
    text = "import torch\nS = '''#include <a.h>\n\nint b = fork();\n'''\ndef run(x, y):\n    y.copy_(x)\n"
    (found,) = reviewed(text)
    assert (found.rule, found.line, found.excerpt) == ("native_process", 4, "int b = fork();")


@pytest.mark.parametrize(
    "text",
    [
        "def run(:\n",
        "x = '\0'",
        "a" + ".b" * 100_000,
        "-" * 50_000 + "1",
        "(" * 500,
        "#" * 2_000_000,
    ],
    ids=["syntax", "null", "chain", "minus", "parentheses", "large"],
)
def test_what_cannot_be_read_is_said_to_be_unread(text: str, reviewed: Reviewed) -> None:
    assert {each.rule for each in reviewed(text)} <= {"unread", "constant_answer"}
    assert any(each.rule == "unread" for each in reviewed(text)) or text.startswith("a.b")


def test_many_findings_are_cut_gravest_first(reviewed: Reviewed) -> None:
    files = {f"m{number}.py": "import os\nos.nice(1)\nos.fork()\n" for number in range(60)}
    found = reviewed("def run(x, y):\n    y.copy_(x)\n", files=files)
    assert len(found) == 50
    assert {each.severity for each in found} == {"alarm"}


def test_renamed_imports_are_followed(reviewed: Reviewed) -> None:
    found = reviewed("from os import fork as spoon\nspoon()\ndef run(x, y):\n    y.copy_(x)\n")
    assert [each.rule for each in found] == ["other_process"]


def test_lower_precision_is_no_finding_where_it_is_allowed(reviewed: Reviewed) -> None:
    source = "def run(x, y):\n    y.copy_(x.half() * 3)\n"
    own = {"tier": "l1", "direction": "forward", "policy": {"lower_precision": True}}
    assert reviewed(source) != ()
    assert reviewed(source, definition={"solbench": own}) == ()


_MANY = 900_000
"""Characters, just below what is read at all: a pattern that starts anew everywhere would take an hour."""


@pytest.mark.parametrize(
    "piece",
    [
        'R"(',
        "__device__ ",
        "__global__ void f(){",
        "static int x; ",
        "static std::map<",
        "\n",
        "\n ",
    ],
)
def test_a_long_source_is_read_in_proportion_to_its_length(reviewed: Reviewed, piece: str) -> None:
    alarm = "int f() { return fork(); }\n"
    found = reviewed(alarm + piece * (_MANY // len(piece)), "k.cpp")
    assert ("native_process", 1) in {(each.rule, each.line) for each in found}


def test_a_python_source_that_takes_minutes_to_parse_is_not_read(reviewed: Reviewed) -> None:
    formatted = "x = f'" + "{a}" * (_MANY // 3) + "'\n"
    (found,) = reviewed("def run(x, y):\n    y.copy_(x)\n", files={"other.py": formatted})
    assert (found.rule, found.file) == ("unread", "other.py")
    assert "too full of braces" in found.message


def test_of_many_native_texts_in_a_python_file_some_are_read(reviewed: Reviewed) -> None:
    texts = "x = [\n" + "    '#include <a>; fork();',\n" * 20_000 + "]\n"
    found = reviewed(texts + "def run(x, y):\n    y.copy_(x)\n")
    assert {each.rule for each in found} == {"native_process"}
    assert [each.line for each in found] == list(range(2, 22))


def test_device_functions_within_one_another_are_one(reviewed: Reviewed) -> None:
    inner = "auto f = [] __device__ () { b<<<1, 1>>>(); };"
    source = f"__global__ void a() {{\n {inner}\n}}\nvoid c() {{ b<<<1, 1>>>(); }}\n"
    found = [each for each in reviewed(source, "k.cu") if each.rule == "device_launch"]
    assert [each.line for each in found] == [2]


def test_a_body_that_never_ends_is_read_to_the_end(reviewed: Reviewed) -> None:
    found = reviewed("__global__ void a() {\n if (1) {\n b<<<1, 1>>>();\n", "k.cu")
    assert [(each.rule, each.line) for each in found] == [("device_launch", 3)]
