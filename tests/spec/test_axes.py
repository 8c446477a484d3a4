from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solbench.errors import AxisError
from solbench.spec import evaluate, holds, parse_expression
from solbench.spec._axes import axis_problems, check_constraint, resolve_expressions


def value_of(text: str, **values: int) -> int:
    return evaluate(parse_expression("axis", text), values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("num_heads * head_dim", 12 * 64),
        ("num_heads*head_dim + 1", 769),
        ("(num_heads + 4) // 3", 5),
        ("num_heads % 5", 2),
        ("num_heads / 4", 3),
        ("2 ** 10", 1024),
        ("-num_heads + +20", 8),
        ("2 ** 3 ** 2", 512),  # ** binds to the right: 2 ** 9
        ("-7 // 2", -4),  # floor, as in Python
        (" head_dim ", 64),
    ],
)
def test_arithmetic_over_axes(text: str, expected: int) -> None:
    assert value_of(text, num_heads=12, head_dim=64) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2.5",
        "True",
        "'a'",
        "__import__('os')",
        "a.b",
        "a[0]",
        "a if a else a",
        "[a]",
        "a & a",
        "a @ a",
        "lambda: 1",
        "(a := 3)",
        "a b",
        "(" * 300,
        "-" * 499 + "1" * 2,
        "a" * 501,
        "9999999999999999999999",
        "f'{a}'",
        "1\n+1)",
        "\0",
    ],
)
def test_anything_but_integer_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(AxisError) as caught:
        value_of(text, a=1)
    assert caught.value.key == "axis"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a / 4", "not an integer: 6 / 4"),
        ("a // 0", "divides by zero"),
        ("a % (a - 6)", "divides by zero"),
        ("2 ** -1", "not an integer"),
        ("10 ** 10 ** 10", "larger than a 64-bit number"),
        ("a ** 63", "larger than a 64-bit number"),
        ("9223372036854775807 * 2", "larger than a 64-bit number"),
        ("missing + 1", "names 'missing'"),
        ("a == 6", "compares where a number is needed"),
    ],
)
def test_an_expression_without_a_64_bit_value_says_why(text: str, reason: str) -> None:
    with pytest.raises(AxisError, match=reason.replace("*", r"\*")):
        value_of(text, a=6)


def test_expressions_resolve_in_any_order_of_declaration() -> None:
    expressions = {"c": "b * 2", "b": "a + 1", "d": "c - b"}
    assert resolve_expressions(expressions, {"a": 4}) == {"c": 10, "b": 5, "d": 5}


def test_a_size_must_be_positive() -> None:
    with pytest.raises(AxisError, match=r"b: 'a - 4' is 0; a size is positive"):
        resolve_expressions({"b": "a - 4"}, {"a": 4})


def test_a_cycle_names_an_axis_on_it() -> None:
    (problem,) = axis_problems({"a": "b + 1", "b": "c", "c": "a", "d": None})
    assert problem.key in ("a", "b", "c")
    assert "depends on itself" in problem.what


def test_every_unknown_name_is_reported_with_its_axis() -> None:
    problems = axis_problems({"a": "x + y", "b": "a * z", "n": None})
    assert [(problem.key, problem.what.split("axis ")[-1]) for problem in problems] == [
        ("a", "'x'"),
        ("a", "'y'"),
        ("b", "'z'"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a == 2 * b", True),
        ("a < b", False),
        ("1 <= b < a", True),
        ("1 <= b < a < 6", False),
        ("not a == b and (a > 5 or b > 5)", True),
        ("a != 6 or b >= 4", False),
    ],
)
def test_constraints_are_boolean(text: str, expected: bool) -> None:
    assert holds(text, {"a": 6, "b": 3}) is expected


@pytest.mark.parametrize(
    "text", ["a + 1", "a in b", "a is b", "len(a) == 1", "c == 1", "a == 1 if a else b"]
)
def test_what_is_no_constraint_over_axes_is_refused(text: str) -> None:
    with pytest.raises(AxisError):
        check_constraint(text, {"a", "b"})


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(st.sampled_from("abc"), st.integers(0, 99).map(str)))
    operator = draw(st.sampled_from(["+", "-", "*", "//", "%"]))
    left, right = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    sign = draw(st.sampled_from(["", "-", "+"]))
    return f"{sign}({left} {operator} {right})"


@given(expressions(), st.tuples(*[st.integers(1, 1000)] * 3))
def test_agrees_with_python_or_refuses(text: str, sizes: tuple[int, int, int]) -> None:
    names = dict(zip("abc", sizes, strict=True))
    try:
        expected = eval(text, {"__builtins__": {}}, names)
    except ZeroDivisionError:
        with pytest.raises(AxisError, match="divides by zero"):
            value_of(text, **names)
        return
    assert value_of(text, **names) == expected


@given(st.text(max_size=60))
def test_any_text_is_evaluated_or_refused(text: str) -> None:
    try:
        assert abs(value_of(text, a=2, b=3)) < 2**63
    except AxisError as error:
        assert error.key == "axis"


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_powers_stay_within_64_bits(base: int, exponent: int) -> None:
    try:
        assert value_of(f"{base} ** {exponent}") == base**exponent
    except AxisError:
        assert base > 1 and (exponent > 62 or base**exponent > 2**63 - 1)
