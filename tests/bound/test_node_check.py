"""The lifted form of every call is tried against the call: wrong rules are found, right ones pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import capture, derive_bound, function_program
from solbench.bound._access import Along, Fixed, Table
from solbench.bound._lift import lift
from solbench.bound._lifted import Lifted, Map
from solbench.bound._node_check import NodeCheck, check_nodes
from solbench.bound.rules._base import RULES, Call, find
from solbench.errors import VerificationError


def t(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


def checked(function: Callable[..., Any], *inputs: Any) -> NodeCheck:
    graph, _ = capture(function_program(function, inputs))
    return check_nodes(lift(graph))


def altered(op: str, change: Callable[[Call, Map], Map]) -> Callable[[Call], Iterable[Lifted]]:
    """The rule of an op with its last map changed."""
    rule = find(op)
    assert rule is not None

    def wrong(call: Call) -> Iterable[Lifted]:
        *first, last = list(rule(call))
        assert isinstance(last, Map)
        return [*first, change(call, last)]

    return wrong


def with_axes(item: Map, operand: int, *axes: Any) -> Map:
    operands = list(item.operands)
    operands[operand] = replace(operands[operand], axes=axes)
    return replace(item, operands=tuple(operands))


WRONG: dict[str, tuple[str, Callable[[Call, Map], Map], Callable[..., Any], tuple[Any, ...]]] = {
    "a transposed operand": (
        "aten.mm.default",
        lambda call, m: with_axes(m, 1, Along(1), Along(2)),
        lambda a, b: a @ b, (t(64, 64), t(64, 64)),
    ),
    "a bias that is not read": (
        "aten.addmm.default",
        lambda call, m: replace(m, operands=m.operands[1:]),
        torch.addmm, (t(32), t(16, 64), t(64, 32)),
    ),
    "a stride of one for a stride of two": (
        "aten.slice.Tensor",
        lambda call, m: with_axes(m, 0, Along(0, 0, 1), Along(1)),
        lambda a: a[::2], (t(32, 8),),
    ),
    "a start that is off by one": (
        "aten.slice.Tensor",
        lambda call, m: with_axes(m, 0, Along(0, 1), Along(1)),
        lambda a: a[2:20], (t(32, 8),),
    ),
    "a selected row that is another one": (
        "aten.select.int",
        lambda call, m: with_axes(m, 0, Fixed(0), Along(0)),
        lambda a: a[5], (t(32, 8),),
    ),
    "a permutation that is the inverse one": (
        "aten.permute.default",
        lambda call, m: with_axes(m, 0, *(Along(d % 3) for d in call.args["dims"])),
        lambda a: a.permute(1, 2, 0), (t(16, 24, 32),),
    ),
    "repeats in blocks for repeats in turn": (
        "aten.repeat.default",
        lambda call, m: with_axes(m, 0, Table(0, torch.arange(12).numpy() // 3)),
        lambda a: a.repeat(3), (t(4),),
    ),
    "rows picked by the wrong index": (
        "aten.index_select.default",
        lambda call, m: with_axes(m, 0, Along(0), Along(1)),
        lambda a, i: a.index_select(0, i), (t(8, 4), torch.tensor([3, 1, 1, 6, 2, 0])),
    ),
    "softmax along the wrong dimension": (
        "aten._softmax.default",
        lambda call, m: replace(m, coupled=frozenset({0})),
        lambda a: a.softmax(-1), (t(16, 32),),
    ),
    "a softmax whose positions do not depend on each other": (
        "aten._softmax.default",
        lambda call, m: replace(m, coupled=frozenset()),
        lambda a: a.softmax(-1), (t(16, 32),),
    ),
    "a whole line read where one element is": (
        "aten.neg.default",
        lambda call, m: replace(
            m, ranks=(*m.ranks, m.ranks[1]),
            operands=(replace(m.operands[0], axes=(Along(0), Along(2))),),
        ),
        torch.neg, (t(16, 32),),
    ),
    "a window that is not padded": (
        "aten.convolution.default",
        lambda call, m: replace(
            m, operands=(
                replace(m.operands[0], axes=tuple(
                    replace(a, table=a.table.clip(min=0)) if hasattr(a, "tap") else a
                    for a in m.operands[0].axes
                )),
                *m.operands[1:],
            ),
        ),
        lambda x, w: F.conv1d(x, w, padding=1), (t(2, 4, 32), t(8, 4, 3)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_found_and_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op, change, function, inputs = WRONG[name]
    assert checked(function, *inputs).complete
    monkeypatch.setitem(RULES, op, altered(op, change))
    with pytest.raises(VerificationError, match=f"rule of {op}.*is wrong"):
        checked(function, *inputs)


def test_a_product_that_leaves_out_half_of_the_sum_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def half(call: Call) -> Iterable[Lifted]:
        made = call.einsum("ik,kj->ij", "self", "mat2")
        yield replace(made, ranks=(*made.ranks[:2], made.ranks[2] // 2))

    monkeypatch.setitem(RULES, "aten.mm.default", half)
    with pytest.raises(VerificationError):
        checked(lambda a, b: a @ b, t(64, 64), t(64, 64))


def test_a_bound_from_a_wrong_rule_is_an_error_that_names_the_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = altered("aten.mm.default", lambda call, m: with_axes(m, 1, Along(1), Along(2)))
    monkeypatch.setitem(RULES, "aten.mm.default", wrong)
    program = function_program(lambda a, b: a @ b, (t(64, 64), t(64, 64)))
    (bound,) = derive_bound(program, "h200", verify=True)
    assert not bound.verified
    assert bound.t_sol_ms is None
    assert bound.error is not None and "aten.mm.default" in bound.error and "line" in bound.error


RIGHT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "large products": (lambda a, b, c: torch.addmm(c, a, b), (t(8192, 4096), t(4096, 1024), t(1024))),
    "grouped attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        (t(4, 32, 4096, 128), t(4, 8, 4096, 128), t(4, 8, 4096, 128)),
    ),
    "group norm of an image": (
        lambda x, w, b: F.group_norm(x, 32, w, b), (t(1, 320, 64, 64), t(320), t(320)),
    ),
    "heads split and merged": (
        lambda x: x.view(8, 2048, 32, 128).transpose(1, 2).reshape(8, 32, -1), (t(8, 2048, 4096),),
    ),
    "a convolution in groups": (
        lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=64), (t(8, 64, 112, 112), t(64, 1, 3, 3)),
    ),
    "a sum written after a product": (lambda a, b: (a * b).sum(-1), (t(4096, 512), t(512))),
    "parts of several sizes": (
        lambda x: x.split([2048, 512, 512], dim=-1)[1], (t(8, 512, 3072),),
    ),
    "channels regrouped": (lambda x: x.view(2, 320, 4096).view(2, 32, 40960), (t(2, 320, 64, 64),)),
    "one slice for each of many experts": (lambda w: w.unbind(0), (t(24, 768, 512),)),
    "a softmax over one element": (lambda x: x.softmax(-1), (t(4, 1),)),
    "dropout": (lambda x: F.dropout(x, 0.5), (t(4096, 512),)),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_calls_on_large_tensors_are_tried_on_small_ones(name: str) -> None:
    function, inputs = RIGHT[name]
    found = checked(function, *inputs)
    assert found.skipped == ()
    assert found.checked == found.total > 0


def test_gradients_of_attention_are_tried_together_with_their_forward() -> None:
    def program(q: Any, k: Any, v: Any, g: Any) -> Any:
        for x in (q, k, v):
            x.requires_grad_()
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return torch.autograd.grad(out, (q, k, v), g)

    found = checked(program, *(t(1, 4, 512, 64) for _ in range(4)))
    assert found.skipped == ()
    assert found.checked == found.total > 0


def test_what_cannot_be_tried_is_counted_and_named() -> None:
    # a packed format that the CPU has no kernel for
    found = checked(lambda x: x.view(torch.float4_e2m1fn_x2), t(4, 64, dtype=torch.uint8))
    assert found.checked < found.total or found.complete
    assert all(": " in reason for reason in found.skipped)
