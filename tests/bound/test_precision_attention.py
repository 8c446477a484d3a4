"""Attention with rounded softmax weights, against torch's own and by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound._precision_attention import rounded_attention

FLASH = "_scaled_dot_product_flash_attention_for_cpu"


def operands(heads: int = 4, kv_heads: int = 4) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(3)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    return {
        "query": draw(2, heads, 24, 16),
        "key": draw(2, kv_heads, 24, 16),
        "value": draw(2, kv_heads, 24, 16),
    }


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"scale": 0.5},
        {"attn_mask": torch.ones(24, 24, dtype=torch.bool).tril(3)},
        {"attn_mask": torch.linspace(-1, 1, 24, dtype=torch.float64).expand(24, 24)},
    ],
    ids=["plain", "causal", "scale", "bool mask", "bias"],
)
def test_without_rounding_it_is_attention(options: dict[str, Any]) -> None:
    given = operands()
    output, lse = rounded_attention("fp32", FLASH)({**given, **options})
    assert output is not None and lse is not None
    expected = F.scaled_dot_product_attention(**given, **options)
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)
    assert lse.shape == (2, 4, 24)


def test_heads_that_share_keys() -> None:
    given = operands(heads=4, kv_heads=2)
    (output,) = rounded_attention("fp32", "scaled_dot_product_attention")(given)
    expected = F.scaled_dot_product_attention(**given, enable_gqa=True)
    assert output is not None
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)


def test_weights_are_rounded_to_the_steps_of_the_class() -> None:
    # one query of logits 0, ln(0.3), ln(0.004): weights 1, 0.3, 0.004 are 127, 38.1 and 0.508 steps of 1/127;
    # values of one column pick the second and the third weight, and their own rounding is exact
    logits = torch.tensor([1.0, 0.3, 0.004], dtype=torch.float64).log()
    value = torch.eye(3, dtype=torch.float64)
    arguments = {
        "query": torch.zeros(1, 1, 1, 2, dtype=torch.float64),
        "key": torch.zeros(1, 1, 3, 2, dtype=torch.float64),
        "value": value[None, None],
        "attn_mask": logits[None],
    }
    (output,) = rounded_attention("int8", "scaled_dot_product_attention")(arguments)
    assert output is not None
    total = 1.304
    expected = [1 / total, 38 / 127 / total, 1 / 127 / total]
    assert output.flatten().tolist() == pytest.approx(expected)
