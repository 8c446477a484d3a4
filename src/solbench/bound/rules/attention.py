"""Scaled dot-product attention, forward and backward, as the products that it is made of.

The scores, the mask, the softmax and the second product become lifted nodes of their own, so that a causal or
known mask, dead queries and dead keys are handled as if the program had written them out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from solbench.bound import _access, _pins
from solbench.bound._access import Table
from solbench.bound._lifted import Lifted, Map
from solbench.bound._region import Box, Shape
from solbench.bound.rules._base import Call, MissingRule, rule
from solbench.bound.rules.elementwise import triangle_box

MINUS_INFINITY = float("-inf")
HELD_PAIRS = 1 << 22
"""Largest causal mask that is spelled out; of larger ones only the number of allowed pairs is used."""


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
    product = call.einsum(f"{lead}qd,{lead}kd->{lead}qk", query.id, key, out=raw)
    nodes.append(replace(product, thinned=_share(call, shape)))
    nodes.append(_mask(call, raw, masked, shape, mask, causal))
    nodes.append(
        call.lines((len(shape) - 1,), argument=masked, out=weights, pin=_pins.exponential, ops=5)
    )
    result = Scores(query.id, key, value, masked, weights)
    call.shared[token] = result
    return result, nodes


def _mask(call: Call, raw: int, out: int, shape: Shape, mask: str | None, causal: bool) -> Map:
    """Scores with -inf where a mask forbids; only the others are needed."""
    axes = _access.identity(len(shape))
    free: Box | None = None
    if causal:
        free = _seen_keys(shape) if _share(call, shape) else triangle_box(shape, 0, lower=True)
    operands = [call.operand(raw, axes)]
    if mask is not None:
        operands.append(call.operand(mask, _access.broadcast(call.shape(mask), shape)))
        free = _known_mask(call, mask, shape)
    pin = None if free is None else _pins.of_box(MINUS_INFINITY, free)
    return Map((out,), (axes,), shape, tuple(operands), flavour="computed", pin=pin)


def _share(call: Call, shape: Shape) -> tuple[int, int, int] | None:
    """Pairs of a causal mask (allowed, in reach of the last query, all), if it is too large to be held."""
    rows, columns = shape[-2:]
    if not call.args.get("is_causal") or rows * columns <= HELD_PAIRS:
        return None
    full = min(rows, columns)
    # row i sees i + 1 keys, all of them once i + 1 reaches their number; the others see the first ``rows``
    allowed = full * (full + 1) // 2 + (rows - full) * columns
    return allowed, rows * full, rows * columns


def _seen_keys(shape: Shape) -> Box:
    """Keys that the last query sees under a causal mask."""
    full = min(shape[-2:])
    return Box((*(range(n) for n in shape[:-1]), range(full)))


def _known_mask(call: Call, mask: str, shape: Shape) -> Box | None:
    """Where a known mask lets scores through; ``None`` if nothing is known."""
    content = call.mask(mask)
    if content is None:
        return None
    allowed = content if content.dtype.is_floating_point is False else content > -1e4
    box = _pins.box_of_mask(allowed.bool().cpu().numpy())
    if box is None:
        return None
    return _access.push(box, _access.broadcast(call.shape(mask), shape), shape)


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
    product = call.einsum(equation, scores.weights, scores.value, out=call.outputs[0])
    yield replace(product, thinned=_share(call, call.values[scores.weights].shape))
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
    share = _share(call, shape)
    product = call.einsum(f"{lead}qd,{lead}kd->{lead}qk", grad, scores.value, out=d_weights)
    yield replace(product, thinned=share)
    identity = _access.identity(len(shape))
    yield Map(
        (d_scores,), (identity,), shape,
        (
            call.operand(scores.weights, identity),
            call.operand(d_weights, identity),
        ),
        flavour="computed", coupled=frozenset({len(shape) - 1}), pin=_pins.keep_zero, ops=4, gate=0,
    )  # fmt: skip
    product = call.einsum(f"{lead}qk,{lead}kd->{lead}qd", d_scores, scores.key, out=call.outputs[0])
    yield replace(product, thinned=share)
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
        product = call.einsum(equation, left, right, out=out)
        yield replace(product, thinned=_share(call, call.values[left].shape))
        return
    raise MissingRule("backward of attention with grouped heads")
