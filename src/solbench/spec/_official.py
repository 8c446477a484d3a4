"""Official distributions: what "random" means for an input, by its name.

The public problems give a random input's meaning by its name only. This table reproduces the
distributions that they were made with (not the draws), so that tolerances keep their meaning.
The first rule that matches wins. Integers, booleans and 8- and 4-bit floats never match one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import torch

from solbench.spec._packing import pack_float4


@dataclass(frozen=True, slots=True)
class Draw:
    """One tensor to be drawn."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    generator: torch.Generator
    description: str = ""

    def normal(self, dtype: torch.dtype | None = None) -> torch.Tensor:
        return torch.randn(
            self.shape,
            generator=self.generator,
            dtype=dtype or self.dtype,
            device=self.generator.device,
        )

    def uniform(self, low: float, high: float) -> torch.Tensor:
        empty = torch.empty(self.shape, dtype=self.dtype, device=self.generator.device)
        return empty.uniform_(low, high, generator=self.generator)

    def integers(self, low: int, high: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.randint(
            low,
            high,
            self.shape,
            generator=self.generator,
            dtype=dtype,
            device=self.generator.device,
        )

    def says(self, *words: str) -> bool:
        """Whether the description holds all of the words."""
        text = self.description.lower()
        return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    matches: Callable[[Draw], bool]
    make: Callable[[Draw], torch.Tensor]


def _named(pattern: str) -> Callable[[Draw], bool]:
    compiled = re.compile(pattern)
    return lambda draw: compiled.fullmatch(draw.name) is not None


def _is_causal_mask(draw: Draw) -> bool:
    square = len(draw.shape) >= 2 and draw.shape[-1] == draw.shape[-2]
    known = draw.name in ("attention_mask", "causal_mask")
    return square and (known or draw.says("attention mask", "causal"))


def _causal_mask(draw: Draw) -> torch.Tensor:
    """0 where a key may be seen, the dtype's lowest number above the diagonal."""
    lowest = torch.finfo(draw.dtype).min
    full = torch.full(draw.shape, lowest, dtype=draw.dtype, device=draw.generator.device)
    return full.triu_(diagonal=1)


_BINARY_WORDS = ("binary", "{0, 1}", "0 or 1", "1.0 for valid", "0.0 for masked")


def _is_binary_mask(draw: Draw) -> bool:
    if draw.name in ("x_mask", "text_mask", "aspect_ratio_mask", "drop_mask", "attention_mask"):
        return True
    return draw.name.endswith("_mask") and any(draw.says(word) for word in _BINARY_WORDS)


def _binary_mask(draw: Draw) -> torch.Tensor:
    return draw.integers(0, 2, torch.int64).to(draw.dtype)


def _angle(draw: Draw) -> torch.Tensor:
    return draw.normal(torch.float32).clamp_(-math.pi, math.pi)


def _is_softmax_output(draw: Draw) -> bool:
    known = draw.name in ("attn_weights", "attention_weights", "routing_weights")
    return known or draw.says("softmax", "output")


def _softmax_rows(draw: Draw) -> torch.Tensor:
    return draw.normal(torch.float32).softmax(dim=-1).to(draw.dtype)


def _is_weight_matrix(draw: Draw) -> bool:
    pattern = r"weight\d*|.*(_weights?|_projs?|_weight_matrix)\d*"
    return len(draw.shape) >= 2 and re.fullmatch(pattern, draw.name) is not None


def _scaled_by_fan_in(draw: Draw) -> torch.Tensor:
    return draw.normal() / math.sqrt(max(draw.shape[-1], 1))


def _ones(draw: Draw) -> torch.Tensor:
    return torch.ones(draw.shape, dtype=draw.dtype, device=draw.generator.device)


def _zeros(draw: Draw) -> torch.Tensor:
    return torch.zeros(draw.shape, dtype=draw.dtype, device=draw.generator.device)


RULES: tuple[Rule, ...] = (
    Rule("norm weight", _named(r".*norm\d*_weight"), _ones),
    Rule("norm bias", _named(r".*norm\d*_bias"), _zeros),
    Rule("causal mask", _is_causal_mask, _causal_mask),
    Rule("binary mask", _is_binary_mask, _binary_mask),
    Rule(
        "rotary cosine",
        _named("cos|cos_cached|rope_cos"),
        lambda draw: _angle(draw).cos().to(draw.dtype),
    ),
    Rule(
        "rotary sine",
        _named("sin|sin_cached|rope_sin"),
        lambda draw: _angle(draw).sin().to(draw.dtype),
    ),
    Rule(
        "positive",
        _named(r"(.*_)?(rstd|std|variance|var)\d*"),
        lambda draw: draw.normal().abs() + 0.1,
    ),
    Rule("decay", _named("A"), lambda draw: draw.uniform(-1.0, -0.001)),
    Rule("log decay", _named("A_log"), lambda draw: draw.uniform(-5.0, -1.0)),
    Rule(
        "summed decay",
        _named("A_cumsum"),
        lambda draw: (
            draw.uniform(-0.1, 0.0).cumsum(dim=-1) if draw.shape else draw.uniform(-0.1, 0)
        ),
    ),
    Rule("decay gate", _named("g"), lambda draw: draw.uniform(-5.0, 0.0)),
    Rule("softmax rows", _is_softmax_output, _softmax_rows),
    Rule("weight matrix", _is_weight_matrix, _scaled_by_fan_in),
)

_RULED = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def rule_for(draw: Draw) -> Rule | None:
    """The first rule that matches; ``None`` means the plain distribution of the dtype."""
    if draw.dtype not in _RULED:
        return None
    return next((rule for rule in RULES if rule.matches(draw)), None)


def draw_official(draw: Draw) -> torch.Tensor:
    """Draw by name. A packed dtype is drawn at ``draw.shape`` and packed to half the last size."""
    rule = rule_for(draw)
    return rule.make(draw) if rule is not None else draw_plain(draw)


def draw_plain(draw: Draw) -> torch.Tensor:
    """Normal floats, 8-bit ones clipped to ±2; ints in [-1024, 1024), int8 in full; fair booleans."""
    if draw.dtype in _RULED:
        return draw.normal()
    if draw.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        return draw.normal(torch.float32).clamp_(-2.0, 2.0).to(draw.dtype)
    if draw.dtype == torch.float4_e2m1fn_x2:
        return pack_float4(draw.normal(torch.float32))
    if draw.dtype == torch.bool:
        return draw.integers(0, 2, torch.bool)
    if draw.dtype == torch.int8:
        return draw.integers(-128, 128, torch.int8)
    return draw.integers(-1024, 1024, draw.dtype)
