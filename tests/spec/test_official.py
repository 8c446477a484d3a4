"""One test a rule: what a name means, and what it does not mean."""

from __future__ import annotations

import math

import pytest
import torch

from solbench.spec._official import Draw, draw_official, rule_for


def draw(
    name: str,
    *shape: int,
    dtype: torch.dtype = torch.float32,
    description: str = "",
) -> Draw:
    generator = torch.Generator().manual_seed(0)
    return Draw(name, shape, dtype, generator, description)


def rule_name(
    name: str,
    *shape: int,
    dtype: torch.dtype = torch.float32,
    description: str = "",
) -> str | None:
    rule = rule_for(draw(name, *shape, dtype=dtype, description=description))
    return None if rule is None else rule.name


@pytest.mark.parametrize(
    ("name", "shape", "rule"),
    [
        ("norm_weight", (8,), "norm weight"),
        ("q_norm_weight", (8,), "norm weight"),
        ("input_layernorm_weight", (8,), "norm weight"),
        ("norm2_weight", (8,), "norm weight"),
        ("norm_bias", (8,), "norm bias"),
        ("post_layernorm_bias", (8,), "norm bias"),
        ("causal_mask", (1, 4, 4), "causal mask"),
        ("attention_mask", (1, 1, 4, 4), "causal mask"),
        ("attention_mask", (2, 4), "binary mask"),
        ("drop_mask", (4,), "binary mask"),
        ("cos", (4, 8), "rotary cosine"),
        ("rope_sin", (4, 8), "rotary sine"),
        ("rstd", (4,), "positive"),
        ("batch_var", (4,), "positive"),
        ("std1", (4,), "positive"),
        ("A", (4,), "decay"),
        ("A_log", (4,), "log decay"),
        ("A_cumsum", (4,), "summed decay"),
        ("g", (4,), "decay gate"),
        ("routing_weights", (4, 8), "softmax rows"),
        ("attn_weights", (4, 8), "softmax rows"),
        ("gate_proj", (4, 8), "weight matrix"),
        ("weight", (4, 8), "weight matrix"),
        ("expert_weights1", (4, 8), "weight matrix"),
    ],
)
def test_a_name_chooses_its_rule(name: str, shape: tuple[int, ...], rule: str) -> None:
    assert rule_name(name, *shape) == rule


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("weight", (8,)),  # a vector, and no norm is named
        ("causal_mask", (3, 4)),  # not square
        ("cosine", (4,)),
        ("a", (4,)),
        ("invar", (4,)),
        ("x", (4, 4)),
        ("projection", (4, 4)),
        ("some_mask", (4,)),
    ],
)
def test_other_names_have_none(name: str, shape: tuple[int, ...]) -> None:
    assert rule_name(name, *shape) is None


@pytest.mark.parametrize(
    ("name", "shape", "description", "rule"),
    [
        ("bias", (4, 4), "Causal attention mask to add", "causal mask"),
        ("padding_mask", (4,), "1.0 for valid tokens", "binary mask"),
        ("probs", (4, 4), "Output of the softmax", "softmax rows"),
    ],
)
def test_a_description_can_choose_too(
    name: str, shape: tuple[int, ...], description: str, rule: str
) -> None:
    assert rule_name(name, *shape, description=description) == rule


@pytest.mark.parametrize(
    "dtype", [torch.int32, torch.bool, torch.float8_e4m3fn, torch.float4_e2m1fn_x2]
)
def test_names_mean_nothing_for_integers_and_small_floats(dtype: torch.dtype) -> None:
    assert rule_name("norm_weight", 8, dtype=dtype) is None


def test_norm_weights_are_ones_and_biases_zeros() -> None:
    assert torch.equal(draw_official(draw("norm_weight", 3)), torch.ones(3))
    assert torch.equal(draw_official(draw("norm_bias", 3)), torch.zeros(3))


def test_a_causal_mask_hides_what_comes_later() -> None:
    low = torch.finfo(torch.bfloat16).min
    mask = draw_official(draw("causal_mask", 1, 3, 3, dtype=torch.bfloat16))
    assert mask.tolist() == [[[0, low, low], [0, 0, low], [0, 0, 0]]]


def test_a_binary_mask_holds_zeros_and_ones_evenly() -> None:
    mask = draw_official(draw("x_mask", 4000))
    assert set(mask.tolist()) == {0.0, 1.0}
    assert abs(mask.mean().item() - 0.5) < 0.05  # five deviations of 0.008


def test_rotary_tables_are_cosines_of_clipped_normals() -> None:
    cos, sin = draw_official(draw("cos", 20000)), draw_official(draw("sin", 20000))
    torch.testing.assert_close(cos**2 + sin**2, torch.ones(20000))  # the same angles
    # The mean of cos over a standard normal is exp(-1/2); the tails beyond ±pi (0.17 %) move it little.
    assert abs(cos.mean().item() - math.exp(-0.5)) < 0.02


def test_deviations_and_variances_are_at_least_a_tenth() -> None:
    values = draw_official(draw("rstd", 20000))
    assert values.min() >= 0.1
    assert abs(values.mean().item() - (0.1 + math.sqrt(2 / math.pi))) < 0.03


@pytest.mark.parametrize(
    ("name", "low", "high"), [("A", -1.0, -0.001), ("A_log", -5.0, -1.0), ("g", -5.0, 0.0)]
)
def test_decays_are_uniform(name: str, low: float, high: float) -> None:
    values = draw_official(draw(name, 20000))
    assert low <= values.min() and values.max() <= high
    # Five deviations of the mean of 20000 uniform draws.
    assert abs(values.mean().item() - (low + high) / 2) < 5 * (high - low) / math.sqrt(12 * 20000)


def test_summed_decays_fall_along_the_last_axis() -> None:
    values = draw_official(draw("A_cumsum", 5, 100))
    steps = values.diff(dim=-1)
    assert steps.max() <= 0 and steps.min() >= -0.1001
    assert draw_official(draw("A_cumsum")).shape == ()


def test_softmax_rows_are_positive_and_sum_to_one() -> None:
    rows = draw_official(draw("routing_weights", 50, 8))
    assert rows.min() > 0
    torch.testing.assert_close(rows.sum(-1), torch.ones(50))


def test_weight_matrices_have_a_deviation_of_one_over_the_root_of_fan_in() -> None:
    weights = draw_official(draw("up_proj", 64, 400))
    assert abs(weights.std().item() * math.sqrt(400) - 1) < 0.03


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_other_floats_are_standard_normal(dtype: torch.dtype) -> None:
    values = draw_official(draw("x", 20000, dtype=dtype))
    assert values.dtype == dtype
    assert abs(values.double().mean().item()) < 0.04
    assert abs(values.double().std().item() - 1) < 0.04


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_8_bit_floats_are_clipped_to_two(dtype: torch.dtype) -> None:
    values = draw_official(draw("x", 20000, dtype=dtype)).float()
    assert values.abs().max() == 2.0
    share = (values.abs() == 2.0).float().mean().item()
    assert share > 0.045  # of a normal, 4.55 % lies beyond 2


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (torch.int8, -128, 127),
        (torch.int16, -1024, 1023),
        (torch.int32, -1024, 1023),
        (torch.int64, -1024, 1023),
    ],
)
def test_integers_fill_their_range(dtype: torch.dtype, low: int, high: int) -> None:
    values = draw_official(draw("x", 50000, dtype=dtype))
    assert values.dtype == dtype
    assert (values.min().item(), values.max().item()) == (low, high)


def test_booleans_are_fair() -> None:
    values = draw_official(draw("x", 4000, dtype=torch.bool))
    assert abs(values.float().mean().item() - 0.5) < 0.05
