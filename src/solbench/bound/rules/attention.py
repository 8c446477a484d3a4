"""Scaled dot-product attention, forward and backward, as the products that it is made of.

The scores, the mask, the softmax and the second product become lifted nodes of their own, so that a causal or
known mask, dead queries and dead keys are handled as if the program had written them out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from solbench.bound import _access, _pins
from solbench.bound._access import Table
from solbench.bound._lifted import Lifted, Map
from solbench.bound._region import Box, Shape
from solbench.bound.rules._base import Call, MissingRule, rule
from solbench.bound.rules.elementwise import triangle_box
from solbench.bound.rules.softmax import softmax_weights

MINUS_INFINITY = float("-inf")


@dataclass(slots=True)
class Scores:
    """Values shared by the forward and the backward pass of one attention."""

    query: int
    key: int
    value: int
    masked: int
    weights: int


def _lead(rank: int) -> str:
    return "abcdefgh"[: rank - 2]


def _repeated(call: Call, argument: str, heads: int) -> tuple[int, Iterable[Lifted]]:
    """Key or value with its heads repeated to the query's number (grouped queries)."""
    value = call.value(argument)
    if len(value.shape) < 3 or value.shape[-3] == heads:
        return value.id, ()
    dim = len(value.shape) - 3
    ranks = (*value.shape[:dim], heads, *value.shape[dim + 1 :])
    axes = list(_access.identity(len(ranks)))
    axes[dim] = Table(dim, np.arange(heads) // (heads // value.shape[dim]))
    out = call.temporary(ranks, value.dtype)
    return out, (call.moved(ranks, tuple(axes), value.id, out=out),)


def _scores(call: Call) -> tuple[Scores, list[Lifted]]:
    """Lifted nodes up to the attention weights; made once for a forward and backward pair."""
    query = call.value("query")
    heads = query.shape[-3] if len(query.shape) > 2 else 1
    key, first = _repeated(call, "key", heads)
    value, second = _repeated(call, "value", heads)
    nodes: list[Lifted] = [*first, *second]
    shape = (*query.shape[:-1], call.values[key].shape[-2])
    mask = next((m for m in ("attn_mask", "attn_bias") if call.has(m)), None)
    causal = bool(call.args.get("is_causal"))
    token = (
        "attention", query.id, call.id("key"), call.id("value"), call.id(mask) if mask else None,
        causal, repr(call.args.get("scale")),
    )  # fmt: skip
    found = call.shared.get(token)
    if isinstance(found, Scores):
        return found, []
    raw, masked, weights = (call.temporary(shape, query.dtype) for _ in range(3))
    lead = _lead(len(shape))
    nodes.append(call.einsum(f"{lead}qd,{lead}kd->{lead}qk", query.id, key, out=raw))
    nodes.append(_mask(call, raw, masked, shape, mask, causal))
    nodes.append(softmax_weights(call, len(shape) - 1, masked, weights))
    result = Scores(query.id, key, value, masked, weights)
    call.shared[token] = result
    return result, nodes


def _mask(call: Call, raw: int, out: int, shape: Shape, mask: str | None, causal: bool) -> Map:
    """Scores with -inf where a mask forbids; only the others are needed."""
    axes = _access.identity(len(shape))
    free: Box | None = None
    masked = causal
    if causal:
        free = triangle_box(shape, 0, lower=True)
    operands = [call.operand(raw, axes)]
    if mask is not None:
        operands.append(call.operand(mask, _access.broadcast(call.shape(mask), shape)))
        masked, free = _known_mask(call, mask, shape)
    pin = _pins.of_box(MINUS_INFINITY, free) if masked else None
    return Map((out,), (axes,), shape, tuple(operands), flavour="computed", pin=pin)


def _known_mask(call: Call, mask: str, shape: Shape) -> tuple[bool, Box | None]:
    """(something is known, where the mask lets scores through)."""
    content = call.mask(mask)
    truth = not call.value(mask).dtype.is_floating_point
    if content is None:
        box = call.where(mask, lambda value: value != 0 if truth else value > -1e4)
        if isinstance(box, str):
            return call.hidden(mask), None
    else:
        allowed = content if truth else content > -1e4
        box = _pins.box_of_mask(allowed.bool().cpu().numpy())
    axes = _access.broadcast(call.shape(mask), shape)
    return True, None if box is None else _access.push(box, axes, shape)


@rule(
    "aten._scaled_dot_product_flash_attention_for_cpu", "aten.scaled_dot_product_attention",
    "aten._scaled_dot_product_flash_attention", "aten._scaled_dot_product_efficient_attention",
    "aten._scaled_dot_product_attention_math", "aten._scaled_dot_product_cudnn_attention",
    "aten._scaled_dot_product_fused_attention_overrideable",
    "aten._scaled_dot_product_attention_math_for_mps",
)  # fmt: skip
def attention(call: Call) -> Iterable[Lifted]:
    """Dropout leaves the work as it is: what it drops is scattered at random."""
    scores, nodes = _scores(call)
    yield from nodes
    lead = _lead(len(call.shape("query")))
    equation = f"{lead}qk,{lead}kd->{lead}qd"
    yield call.einsum(equation, scores.weights, scores.value, out=call.outputs[0])
    yield from _statistics(call, scores)


def _statistics(call: Call, scores: Scores) -> Iterable[Lifted]:
    """The log-sum-exp of every query, and constants (seeds, offsets) that no one needs."""
    expected = call.shape("query")[:-1]
    for out in list(call.node.results())[1:]:
        if call.values[out].shape == expected:
            yield call.reduce((len(expected),), scores.masked, outs=(out,))
        elif call.values[out].shape == call.values[scores.weights].shape:
            yield call.pointwise(scores.weights, out=out, flavour="moved", pin=_pins.keep)
        else:
            yield call.created(out=out)


@rule(
    "aten._scaled_dot_product_flash_attention_for_cpu_backward",
    "aten._scaled_dot_product_flash_attention_backward",
    "aten._scaled_dot_product_efficient_attention_backward",
)
def attention_backward(call: Call) -> Iterable[Lifted]:
    """dV = Pᵀ dO;  dP = dO Vᵀ;  dS = P ∘ (dP − rowsum(P ∘ dP));  dQ = dS K;  dK = dSᵀ Q.

    The row sum is usually taken as ``dO ∘ O``; from P and dP it needs neither the output nor its product.
    """
    grad = call.id(call.first("grad_out", "grad_out_"))
    scores, nodes = _scores(call)
    yield from nodes
    shape = call.values[scores.weights].shape
    dtype = call.value("query").dtype
    lead = _lead(len(shape))
    d_weights, d_scores = (call.temporary(shape, dtype) for _ in range(2))
    yield call.einsum(f"{lead}qd,{lead}kd->{lead}qk", grad, scores.value, out=d_weights)
    identity = _access.identity(len(shape))
    pin = _pins.of_box(0.0, None) if shape[-1] == 1 else _pins.keep_zero
    yield Map(
        (d_scores,), (identity,), shape,
        (
            call.operand(scores.weights, identity),
            call.operand(d_weights, identity),
        ),
        flavour="computed", coupled=frozenset({len(shape) - 1}), pin=pin, ops=4, gate=0,
    )  # fmt: skip
    yield call.einsum(f"{lead}qk,{lead}kd->{lead}qd", d_scores, scores.key, out=call.outputs[0])
    for out, left, right, argument in (
        (call.outputs[1], d_scores, scores.query, "key"),
        (call.outputs[2], scores.weights, grad, "value"),
    ):
        yield from _key_gradient(call, out, left, right, argument)


def _key_gradient(call: Call, out: int, left: int, right: int, argument: str) -> Iterable[Lifted]:
    """``sum over q`` of a product; grouped heads are summed as well."""
    shape, heads = call.shape(argument), call.values[left].shape[-3]
    lead = _lead(len(call.values[left].shape))
    equation = f"{lead}qk,{lead}qd->{lead}kd"
    if shape[-3] == heads:
        yield call.einsum(equation, left, right, out=out)
        return
    raise MissingRule("backward of attention with grouped heads")
