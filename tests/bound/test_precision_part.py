"""How much may be lowered where all may not: shares worked out by hand."""

from __future__ import annotations

import pytest
import torch

from solbench.bound._precision_part import share_within_rms, share_within_tolerance


def signs(*shape: int) -> torch.Tensor:
    """Ones with alternating signs: every square is 1."""
    numbers = torch.arange(torch.Size(shape).numel()).reshape(shape)
    return 1.0 - 2.0 * (numbers % 2)


def test_squares_of_errors_add() -> None:
    truth = torch.zeros(32, 64)
    # all of it: 3 beside 1, so 9 = 1 + 8; a limit of 2 leaves 4 - 1 = 3 of 8
    share = share_within_rms(3 * signs(32, 64), signs(32, 64), truth, 2.0)
    assert share == pytest.approx(3 / 8)


def test_all_may_be_lowered_within_the_limit() -> None:
    truth = torch.zeros(32, 64)
    assert share_within_rms(2 * signs(32, 64), signs(32, 64), truth, 2.0) == 1.0


def test_nothing_may_be_lowered_where_there_is_no_room() -> None:
    truth = torch.zeros(32, 64)
    assert share_within_rms(9 * signs(32, 64), 2 * signs(32, 64), truth, 2.0) == 0.0


@pytest.mark.parametrize("transposed", [False, True], ids=["rows", "columns"])
def test_quiet_lines_are_lowered_first(transposed: bool) -> None:
    loud = torch.tensor([1.0] * 24 + [9.0] * 8)[:, None]
    lowered = loud * signs(32, 64)
    lowered = lowered.T if transposed else lowered
    zero = torch.zeros_like(lowered)
    # 24 of 32 lines add 24 / 32 of 1 = 0.75; of 1.0 is left 0.25 · 32 = 8 of 81 that a loud line adds
    assert share_within_rms(lowered, zero, zero, 1.0) == pytest.approx((24 + 8 / 81) / 32)


def test_lines_that_are_quiet_by_luck_are_not_chosen() -> None:
    generator = torch.Generator().manual_seed(2)
    lowered = 3 * torch.randn(4096, 16, generator=generator)
    zero = torch.zeros_like(lowered)
    # choosing by the errors themselves would give 0.50
    assert share_within_rms(lowered, zero, zero, 1.8) == pytest.approx(0.36, abs=0.02)


def test_a_line_that_overflows_is_not_lowered() -> None:
    lowered = signs(32, 64)
    lowered[5] = torch.inf
    zero = torch.zeros_like(lowered)
    assert share_within_rms(lowered, zero, zero, 2.0) == pytest.approx(31 / 32)


def test_errors_within_a_tolerance_shrink_with_the_root_of_the_share() -> None:
    assert share_within_tolerance(torch.full((32, 64), 2.0), 1.0) == pytest.approx(1 / 4)


def test_what_need_not_match_may_be_lowered_in_any_way() -> None:
    assert share_within_tolerance(torch.full((32, 100), 2.0), 0.95) == pytest.approx(0.30)


def test_elements_that_need_not_match_do_not_count_in_their_line() -> None:
    excess = torch.full((20, 100), 2.0)
    excess[:, 7] = 1e6
    # of each row 98 elements have to match, and are off by 2
    assert share_within_tolerance(excess, 0.98) == pytest.approx(1 / 4 + 0.02)


def test_short_lines_count_as_one() -> None:
    # single elements would be chosen by their luck: 3 of 4 are right
    excess = torch.tensor([[0.5, 0.5], [0.5, 4.0]])
    assert share_within_tolerance(excess, 1.0) == pytest.approx(1 / 16)
