"""Which numbers a value can hold: whole ones only, and between which limits.

A float that was rounded and clamped to -128…127 multiplies as int8, whatever its dtype says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite

import torch

from solbench.bound import _precision


@dataclass(frozen=True, slots=True)
class Span:
    """Every element lies between ``low`` and ``high``."""

    low: float = -inf
    high: float = inf
    whole: bool = False
    """Whether all elements are whole numbers."""


ANYTHING = Span()

Spans = Sequence[Span]
SpanRule = Callable[[Spans], Span]
"""Spans of the operands → span of the result."""


def of_dtype(dtype: torch.dtype) -> Span:
    if dtype is torch.bool:
        return Span(0, 1, True)
    if dtype in (torch.int8, torch.uint8):
        limits = torch.iinfo(dtype)
        return Span(limits.min, limits.max, True)
    return Span(whole=not (dtype.is_floating_point or dtype.is_complex))


def precision(span: Span) -> str:
    """The class that holds every such number exactly; empty if nothing narrow is known to."""
    if not span.whole:
        return ""
    if span.low >= 0 and span.high <= 1:
        return "bit"
    if span.low >= -1 and span.high <= 1:
        return "sign"
    return "int8" if span.low >= -128 and span.high <= 255 else ""


def hull(spans: Spans) -> Span:
    """Elements of any of them."""
    if not spans:
        return ANYTHING
    low, high = min(s.low for s in spans), max(s.high for s in spans)
    return Span(low, high, all(s.whole for s in spans))


def rounded(spans: Spans) -> Span:
    own = spans[0]
    low = floor(own.low) if isfinite(own.low) else own.low
    return Span(low, ceil(own.high) if isfinite(own.high) else own.high, True)


def signs(spans: Spans) -> Span:
    return Span(-1, 1, True)


def clamped(low: float, high: float) -> SpanRule:
    """Limits from both sides; those that bind must be whole for the result to be."""

    def limit(spans: Spans) -> Span:
        own = spans[0]
        edges = [e for e in (low, high) if isfinite(e)]
        whole = own.whole and all(float(e).is_integer() for e in edges)
        return Span(max(own.low, low), min(own.high, high), whole)

    return limit


def negated(spans: Spans) -> Span:
    return Span(-spans[0].high, -spans[0].low, spans[0].whole)


def shifted(offset: float) -> SpanRule:
    """A number is added."""

    def shift(spans: Spans) -> Span:
        own = spans[0]
        whole = own.whole and float(offset).is_integer()
        return Span(own.low + offset, own.high + offset, whole)

    return shift


def total(spans: Spans) -> Span:
    low, high = sum(s.low for s in spans), sum(s.high for s in spans)
    return Span(low, high, all(s.whole for s in spans))


def difference(spans: Spans) -> Span:
    first, second = spans
    return Span(first.low - second.high, first.high - second.low, first.whole and second.whole)


def narrower(name: str, span: Span) -> str:
    """A class, or the one that the span gives, if that is narrower."""
    found = precision(span)
    return found if found and _precision.join(found, name) == name else name
