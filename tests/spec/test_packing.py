from __future__ import annotations

import pytest
import torch

from solbench.spec import pack_float4, unpack_float4
from solbench.spec._packing import FLOAT4_MAGNITUDES


def rounded(value: float) -> float:
    return unpack_float4(pack_float4(torch.tensor([value, 0.0])))[0].item()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.2, 0.0),
        (0.25, 0.0),  # ties go to the even code: 0
        (0.26, 0.5),
        (0.75, 1.0),
        (1.25, 1.0),
        (1.75, 2.0),
        (2.5, 2.0),
        (3.5, 4.0),
        (5.0, 4.0),
        (5.1, 6.0),
        (100.0, 6.0),
        (-0.6, -0.5),
        (-5.5, -6.0),
    ],
)
def test_rounds_to_nearest_with_ties_to_even(value: float, expected: float) -> None:
    assert rounded(value) == expected


def test_every_code_survives_the_round_trip() -> None:
    values = torch.tensor([*FLOAT4_MAGNITUDES, *(-value for value in FLOAT4_MAGNITUDES)])
    assert torch.equal(unpack_float4(pack_float4(values)), values)


def test_the_first_of_two_values_is_the_low_half() -> None:
    packed = pack_float4(torch.tensor([[0.5, 6.0], [-0.5, 0.0]]))
    assert packed.dtype == torch.float4_e2m1fn_x2
    assert packed.view(torch.uint8).tolist() == [[0x71], [0x09]]
