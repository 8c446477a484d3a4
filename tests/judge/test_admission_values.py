"""Other values of an input, for asking whether outputs depend on it."""

from __future__ import annotations

import torch

from solbench.judge.admission import different_values, same_value


def test_packed_values_are_taken_in_another_order() -> None:
    """Torch has no operation on the format itself."""
    bytes_ = torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8)
    packed = bytes_.view(torch.float4_e2m1fn_x2)
    (other,) = different_values(packed, packed.clone())
    assert other.dtype == packed.dtype
    assert other.view(torch.uint8).tolist() == [[4, 3], [2, 1]]


def test_a_value_of_another_seed_is_taken_where_it_differs() -> None:
    value, other = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    assert list(different_values(value, other)) == [other]


def test_a_constant_gets_one_more() -> None:
    value = torch.full((3,), 2.0)
    (more,) = different_values(value, value.clone())
    assert more.tolist() == [3.0, 3.0, 3.0]


def test_whole_numbers_and_truths_change_too() -> None:
    for value in (torch.tensor([1, 2]), torch.tensor([True, False])):
        for other in different_values(value, value.clone()):
            assert other.dtype == value.dtype
            assert not same_value(other, value)
