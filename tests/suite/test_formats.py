"""Quantised formats against values worked out by hand from the formats' definitions."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from solbench.spec import pack_float4, unpack_float4
from solbench.suite import formats

FINITE = st.floats(-1e4, 1e4, width=32)


def test_four_bit_values_round_to_the_nearest_and_ties_to_the_even_code() -> None:
    # Codes 0..7 are 0, .5, 1, 1.5, 2, 3, 4, 6; .25 lies between codes 0 and 1, .75 between 1 and 2, …
    given_values = [0.25, 0.26, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 5.01, 7.0, -0.75, -9.0]
    expected = [0.0, 0.5, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 6.0, 6.0, -1.0, -6.0]
    rounded = formats.round_to_fp4(torch.tensor(given_values))
    assert rounded.tolist() == expected


def test_four_bit_pairs_are_packed_low_half_first() -> None:
    packed = formats.pack_fp4(torch.tensor([1.0, -6.0, 0.5, 0.0]))
    # 1.0 is code 2, -6 is code 15, 0.5 is code 1.
    assert packed.view(torch.uint8).tolist() == [0xF2, 0x01]
    assert formats.unpack_fp4(packed).tolist() == [1.0, -6.0, 0.5, 0.0]


def test_all_sixteen_codes_unpack_to_their_values() -> None:
    codes = torch.arange(16, dtype=torch.uint8)
    values = formats.unpack_fp4(codes)[0::2]
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    assert values.tolist() == magnitudes + [-each for each in magnitudes]


def test_four_bit_packing_agrees_with_that_of_exchanged_files() -> None:
    values = torch.linspace(-7.0, 7.0, 4096)
    values = values[values != 0]
    values = values[: len(values) // 2 * 2]
    mine, theirs = formats.pack_fp4(values), pack_float4(values)
    assert torch.equal(mine.view(torch.uint8), theirs.view(torch.uint8))
    assert torch.equal(formats.unpack_fp4(mine), unpack_float4(theirs))


def test_eight_bit_codes_are_those_of_the_format_and_saturate() -> None:
    # E4M3: 1.0 = 0 0111 000, 448 = 0 1111 110, -0.0625 = 1 0011 000; 1.0625 is a tie, even is 1.0.
    codes = formats.round_to_fp8(torch.tensor([1.0, 448.0, 1e9, -0.0625, 1.0625]))
    assert codes.view(torch.uint8).tolist() == [0x38, 0x7E, 0x7E, 0xB8 - 0x20, 0x38]
    # E5M2: 1.0 = 0 01111 00, 57344 = 0 11110 11.
    codes = formats.round_to_fp8(torch.tensor([1.0, 1e9]), torch.float8_e5m2)
    assert codes.view(torch.uint8).tolist() == [0x3C, 0x7B]


def test_a_tensor_scale_maps_the_largest_magnitude_to_the_largest_code() -> None:
    codes, scale = formats.quantise_fp8_tensor(torch.tensor([[1.0, -2.0], [0.5, 0.0]]))
    assert scale.item() == pytest.approx(2.0 / 448.0)
    assert codes.to(torch.float32).tolist() == [[224.0, -448.0], [112.0, 0.0]]
    assert formats.dequantise_fp8_tensor(codes, scale).tolist() == [[1.0, -2.0], [0.5, 0.0]]


def test_each_row_has_its_own_scale() -> None:
    codes, scales = formats.quantise_fp8_rows(torch.tensor([[448.0, 1.0], [0.0, 0.0], [-7.0, 3.5]]))
    assert scales.tolist() == [[1.0], [1.0], [7.0 / 448.0]]
    assert codes.to(torch.float32).tolist() == [[448.0, 1.0], [0.0, 0.0], [-448.0, 224.0]]
    assert formats.dequantise_fp8_rows(codes, scales)[2].tolist() == [-7.0, 3.5]


def test_blocks_of_an_uneven_matrix_each_have_a_scale() -> None:
    values = torch.ones(3, 5)
    values[2, 4] = 448.0
    values[:2, 2:4] = 2.0
    codes, scales = formats.quantise_fp8_blocks(values, 2, 2)
    largest = torch.tensor([[1.0, 2.0, 1.0], [1.0, 1.0, 448.0]])
    assert torch.equal(scales, largest / 448.0)
    assert torch.allclose(formats.dequantise_fp8_blocks(codes, scales, 2, 2), values)


def test_nvfp4_of_a_hand_worked_pair_of_blocks() -> None:
    # Largest 6 → global scale 6 / (6 * 448) = 1/448. Block 1: 6 / 6 * 448 = 448. Block 2: 3 / 6 * 448 = 224.
    values = torch.zeros(1, 32)
    values[0, :4] = torch.tensor([6.0, -3.0, 1.5, 0.2])
    values[0, 16:18] = torch.tensor([3.0, -0.25])
    packed, scales, global_scale = formats.quantise_nvfp4(values)
    assert global_scale.item() == pytest.approx(1.0 / 448.0)
    assert scales.to(torch.float32).tolist() == [[448.0, 224.0]]
    codes = packed.view(torch.uint8)[0]
    # Block 1 has step 1: codes of 6, -3, 1.5 and 0.2 → 0. Block 2 has step ½: 6 and -0.5.
    assert codes[:2].tolist() == [0xD7, 0x03]
    assert codes[8].item() == 0x97
    back = formats.dequantise_nvfp4(packed, scales, global_scale)
    assert back[0, :4].tolist() == pytest.approx([6.0, -3.0, 1.5, 0.0])
    assert back[0, 16:18].tolist() == pytest.approx([3.0, -0.25])


def test_mx_scales_are_powers_of_two_by_the_largest_magnitude() -> None:
    # Largest 5: exponent 2, less E2M1's 2 → scale 1; 5 rounds to 4. Largest 0.7: exponent -1 - 2 → 1/8.
    values = torch.zeros(64)
    values[0], values[1] = 5.0, 7.5
    values[32] = 0.7
    packed, scales = formats.quantise_mxfp4(values)
    assert scales.view(torch.uint8).tolist() == [127, 127 - 3]
    back = formats.dequantise_mxfp4(packed, scales)
    assert back[[0, 1, 32]].tolist() == [4.0, 6.0, 0.75]


def test_mxfp8_uses_the_range_of_e4m3() -> None:
    # Largest 3: exponent 1 - 8 = -7; 3 / 2^-7 = 384, a code.
    values = torch.zeros(32)
    values[0], values[1] = 3.0, -0.5
    codes, scales = formats.quantise_mxfp8(values)
    assert scales.view(torch.uint8).tolist() == [120]
    assert codes[:2].to(torch.float32).tolist() == [384.0, -64.0]
    assert formats.dequantise_mxfp8(codes, scales)[:2].tolist() == [3.0, -0.5]


def test_a_tensor_of_zeros_stays_zero_in_every_format() -> None:
    zeros = torch.zeros(128, 128)
    assert not formats.dequantise_fp8_tensor(*formats.quantise_fp8_tensor(zeros)).any()
    assert not formats.dequantise_fp8_rows(*formats.quantise_fp8_rows(zeros)).any()
    assert not formats.dequantise_fp8_blocks(*formats.quantise_fp8_blocks(zeros)).any()
    assert not formats.dequantise_nvfp4(*formats.quantise_nvfp4(zeros)).any()
    assert not formats.dequantise_mxfp4(*formats.quantise_mxfp4(zeros)).any()
    assert not formats.dequantise_mxfp8(*formats.quantise_mxfp8(zeros)).any()


@settings(max_examples=40, deadline=None)
@given(st.lists(FINITE, min_size=32, max_size=32))
def test_quantising_a_dequantised_tensor_changes_nothing(drawn: list[float]) -> None:
    values = torch.tensor(drawn).view(1, 32)
    for quantise, dequantise in (
        (formats.quantise_mxfp4, formats.dequantise_mxfp4),
        (formats.quantise_mxfp8, formats.dequantise_mxfp8),
    ):
        once = dequantise(*quantise(values))
        assert torch.equal(dequantise(*quantise(once)), once)


@settings(max_examples=40, deadline=None)
@given(st.lists(FINITE, min_size=32, max_size=32))
def test_the_error_of_a_round_trip_is_at_most_half_a_step(drawn: list[float]) -> None:
    values = torch.tensor(drawn).view(2, 16)
    codes, scales = formats.quantise_fp8_rows(values)
    error = (formats.dequantise_fp8_rows(codes, scales) - values).abs()
    # Three mantissa bits: half a step is 2^-4 of a normal value; below 2^-6 * scale steps are even.
    allowed = torch.maximum(values.abs() * 2**-4, scales * 2**-10) * 1.0001
    assert bool((error <= allowed).all())
