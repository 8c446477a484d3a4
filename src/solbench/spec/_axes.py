"""Axis arithmetic: expressions over axes, evaluated on their syntax tree, never by ``eval``.

Integers only. Every intermediate value stays within 64 bits, so no expression can take long.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import itertools
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from solbench.errors import AxisError

LARGEST_SIZE = 2**63 - 1
"""Sizes are signed 64-bit numbers in torch."""
_LONGEST_EXPRESSION = 500
_GRAMMAR_REMEDY = "Use integers, axis names, + - * / // % **, parentheses and signs."


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression and the axis names that it reads."""

    owner: str
    """The axis (or constraint) it belongs to; errors name it."""
    text: str
    tree: ast.expr
    names: frozenset[str]


@functools.lru_cache(
    maxsize=1024
)  # the same few expressions are met for every call of every workload
def parse_expression(owner: str, text: str) -> Expression:
    """Parse the arithmetic (or comparison) ``text``; ``AxisError`` names ``owner``."""
    if len(text) > _LONGEST_EXPRESSION:
        raise AxisError(
            f"the expression is {len(text)} characters long",
            key=owner,
            remedy=f"At most {_LONGEST_EXPRESSION} are allowed; split it over several axes.",
        )
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        _check_grammar(owner, tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise AxisError(
            f"'{text}' is not an expression", key=owner, remedy=_GRAMMAR_REMEDY
        ) from None
    names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return Expression(owner, text, tree, names)


def evaluate(expression: Expression, values: Mapping[str, int]) -> int:
    """Value of an arithmetic expression; ``AxisError`` if it is no integer of 64 bits."""
    try:
        return _number(expression.tree, values)
    except _Refusal as refusal:
        raise AxisError(f"'{expression.text}' {refusal}", key=expression.owner) from None


def check_constraint(text: str, axes: Collection[str]) -> None:
    """``AxisError`` unless ``text`` is a boolean expression over ``axes``."""
    expression = parse_expression("constraints", text)
    unknown = sorted(expression.names.difference(axes))
    if unknown:
        raise AxisError(f"'{text}' names {', '.join(unknown)}, which is no axis", key="constraints")
    if not isinstance(expression.tree, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
        raise AxisError(f"'{text}' is no comparison", key="constraints")


def holds(constraint: str, values: Mapping[str, int]) -> bool:
    """Whether a boolean expression over axes is true; ``AxisError`` if it is not one."""
    expression = parse_expression("constraints", constraint)
    try:
        return _truth(expression.tree, values)
    except _Refusal as refusal:
        raise AxisError(f"'{constraint}' {refusal}", key="constraints") from None


def expression_order(expressions: Mapping[str, Expression]) -> tuple[str, ...]:
    """Names of ``expr`` axes in an order in which each can be computed; cycles are ``AxisError``."""
    edges = {
        name: sorted(expression.names & expressions.keys())
        for name, expression in expressions.items()
    }
    try:
        return tuple(graphlib.TopologicalSorter(edges).static_order())
    except graphlib.CycleError as error:
        cycle = error.args[1]
        raise AxisError(
            f"the expression depends on itself ({' -> '.join(reversed(cycle))})",
            key=cycle[0],
            remedy="Give one axis of the circle a value of its own.",
        ) from None


def axis_problems(axes: Mapping[str, str | None]) -> tuple[AxisError, ...]:
    """What is wrong with the axes whatever their values; ``axes``: name → expression, if it has one."""
    problems: list[AxisError] = []
    expressions: dict[str, Expression] = {}
    for name, text in axes.items():
        if text is None:
            continue
        try:
            expressions[name] = parse_expression(name, text)
        except AxisError as error:
            problems.append(error)
    for name, expression in expressions.items():
        problems += [
            AxisError(
                f"the expression '{expression.text}' names the unknown axis '{other}'",
                key=name,
                remedy=f"Known axes: {', '.join(axes)}.",
            )
            for other in sorted(expression.names - axes.keys())
        ]
    try:
        expression_order(expressions)
    except AxisError as error:
        problems.append(error)
    return tuple(problems)


def resolve_expressions(expressions: Mapping[str, str], known: Mapping[str, int]) -> dict[str, int]:
    """Values of all ``expr`` axes, given those of all others. Each must be positive."""
    parsed = {name: parse_expression(name, text) for name, text in expressions.items()}
    values = dict(known)
    for name in expression_order(parsed):
        value = evaluate(parsed[name], values)
        if value <= 0:
            raise AxisError(f"'{parsed[name].text}' is {value}; a size is positive", key=name)
        values[name] = value
    return {name: values[name] for name in expressions}


class _Refusal(Exception):
    """Why an expression has no value; the caller adds the owner."""


def _exact_quotient(left: int, right: int) -> int:
    if right == 0 or left % right:
        raise _Refusal(f"is not an integer: {left} / {right}")
    return left // right


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise _Refusal(f"is not an integer: {base} ** {exponent}")
    if abs(base) > 1 and exponent > 63:
        raise _Refusal("is larger than a 64-bit number")
    result: int = base**exponent
    return result


_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _exact_quotient,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_UNARY: dict[type[ast.unaryop], Callable[[int], int]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_STRUCTURE = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Name, ast.Load)
_OPERATORS = (*_BINARY, *_UNARY, *_COMPARE, ast.And, ast.Or, ast.Not)


def _check_grammar(owner: str, tree: ast.expr) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if type(node.value) is not int or node.value > LARGEST_SIZE:
                raise AxisError(
                    f"{ast.unparse(node)} is not an integer of 64 bits",
                    key=owner,
                    remedy=_GRAMMAR_REMEDY,
                )
        elif not isinstance(node, _STRUCTURE + _OPERATORS):
            raise AxisError(
                f"{type(node).__name__} is not allowed in an expression over axes",
                key=owner,
                remedy=_GRAMMAR_REMEDY,
            )


def _number(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            if name not in values:
                raise _Refusal(f"names '{name}', which is no axis with a value")
            return values[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_number(operand, values))
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _number(left, values), _number(right, values))
        case _:
            raise _Refusal("compares where a number is needed")


def _binary(op: ast.operator, left: int, right: int) -> int:
    try:
        result = _BINARY[type(op)](left, right)
    except ZeroDivisionError:
        raise _Refusal("divides by zero") from None
    if abs(result) > LARGEST_SIZE:
        raise _Refusal("is larger than a 64-bit number")
    return result


def _truth(node: ast.expr, values: Mapping[str, int]) -> bool:
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_truth(part, values) for part in parts)
        case ast.BoolOp(op=ast.Or(), values=parts):
            return any(_truth(part, values) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _truth(operand, values)
        case ast.Compare(left=left, ops=ops, comparators=rights):
            numbers = [_number(side, values) for side in (left, *rights)]
            pairs = itertools.pairwise(numbers)
            return all(_COMPARE[type(op)](a, b) for op, (a, b) in zip(ops, pairs, strict=True))
        case _:
            raise _Refusal("is no comparison")
