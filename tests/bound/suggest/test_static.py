"""What the text of a suggested rule may hold."""

from __future__ import annotations

import pytest

from solbench.bound.suggest import complaints

GOOD = '''
from collections.abc import Iterable

from solbench.bound._lifted import Lifted
from solbench.bound.rules import Call, MissingRule, rule


def kept(rank: int, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(rank) if d != dim)


@rule("mylib.op.default")
def op(call: Call) -> Iterable[Lifted]:
    """A norm along a dimension."""
    if call.args["p"] != 2:
        raise MissingRule("other norms")
    yield call.lines(kept(len(call.shape("self")), call.dim()))
'''


def test_a_plain_rule_has_no_complaint() -> None:
    assert complaints(GOOD, "mylib.op.default") == ()


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "from os import system",
        "from solbench.bound.rules._base import RULES",
        "from . import rule as other",
        "x = open('/etc/passwd')",
        "print('hello')",
    ],
)
def test_nothing_else_may_stand_at_the_top(line: str) -> None:
    assert complaints(f"{line}\n{GOOD}", "mylib.op.default") != ()


@pytest.mark.parametrize(
    "line",
    [
        "open('x', 'w')",
        "eval('1')",
        "exec('1')",
        "__import__('os')",
        "getattr(call, 'node')",
        "call.node",
        "call.values[0]",
        "call.__class__",
        "().__class__.__bases__[0].__subclasses__()",
        "call.known('self').numpy().tofile('x')",
        "call.args.clear()",
        "call.args = {}",
        "globals()",
        "'{0.__class__}'.format(call)",
        "f'{call!r}'",
        "lambda: 1",
        "rule.__globals__",
        "len = eval",
        "import os",
    ],
)
def test_nothing_reaches_outside(line: str) -> None:
    text = GOOD.replace("    yield", f"    {line}\n    yield")
    assert complaints(text, "mylib.op.default") != ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('@rule("mylib.op.default")', '@rule("aten.mm.default")'),
        ('@rule("mylib.op.default")', '@rule("mylib.op.default", "aten.mm.default")'),
        ('@rule("mylib.op.default")', ""),
        ("def kept", '@rule("aten.mm.default")\ndef kept'),
        ("def kept", "class Kept: ...\n\n\ndef kept"),
    ],
)
def test_it_is_the_rule_of_one_operation(old: str, new: str) -> None:
    assert complaints(GOOD.replace(old, new), "mylib.op.default") != ()


@pytest.mark.parametrize("text", ["def (", "", "x" * 9000, "\0", "(" * 500])
def test_what_is_no_rule_is_refused(text: str) -> None:
    assert complaints(text, "mylib.op.default") != ()
