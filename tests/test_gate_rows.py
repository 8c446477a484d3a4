"""Rows that follow from one choice or another: which right answer is nearest, and how many may need another."""

from __future__ import annotations

import pytest
import torch

from solbench.gate import (
    ErrorBudget,
    NearestRows,
    OutputError,
    largest_allowed,
    replace_rows,
    rows_allowed,
    rows_off,
    usual_largest,
)

LIMITS = {"weights": 0.01, "indices": 1.0}


def answer(weights: list[list[float]], indices: list[list[int]]) -> dict[str, torch.Tensor]:
    return {"weights": torch.tensor(weights), "indices": torch.tensor(indices, dtype=torch.int32)}


FIRST = answer([[0.7, 0.3], [0.5, 0.5], [0.9, 0.1]], [[4, 2], [1, 6], [0, 3]])
OTHER = answer([[0.7, 0.3], [0.4, 0.6], [0.9, 0.1]], [[4, 2], [6, 1], [0, 3]])
"""Its second row follows from another choice."""


def test_a_row_that_follows_another_choice_is_taken_from_the_answer_that_has_it() -> None:
    nearest = NearestRows(OTHER, FIRST, LIMITS)
    assert nearest.unmatched == 1
    assert nearest.offer(OTHER)
    assert nearest.unmatched == 0
    assert nearest.others == 1
    assert nearest.taken[3].tolist() == [False, True, False]
    assert torch.equal(nearest.rows["indices"], OTHER["indices"])
    assert torch.equal(nearest.rows["weights"], OTHER["weights"])
    assert FIRST["indices"].tolist()[1] == [1, 6]  # what was given stays


def test_the_outputs_of_a_row_come_from_one_choice() -> None:
    """The indices of one answer beside the weights of the other are no answer."""
    mixed = {"weights": FIRST["weights"], "indices": OTHER["indices"]}
    nearest = NearestRows(mixed, FIRST, LIMITS)
    assert not nearest.offer(OTHER)
    assert nearest.unmatched == 1


def test_half_of_each_choice_is_neither() -> None:
    twice = answer([[0.7, 0.3], [0.5, 0.5], [0.9, 0.1]], [[4, 2], [6, 6], [0, 3]])
    nearest = NearestRows(twice, FIRST, LIMITS)
    assert not nearest.offer(OTHER)


def test_a_row_that_the_first_answer_matches_stays_its_own() -> None:
    nearest = NearestRows(FIRST, FIRST, LIMITS)
    assert not nearest.may_be_ties
    assert not nearest.offer(OTHER)
    assert nearest.others == 0


@pytest.mark.parametrize(("rows", "allowed"), [(1, 1), (99, 1), (100, 2), (1000, 11)])
def test_one_row_in_a_hundred_may_follow_another_choice_and_one_more(
    rows: int, allowed: int
) -> None:
    assert rows_allowed(rows) == allowed
    right = {"y": torch.zeros(rows, 2)}
    for off in (allowed, allowed + 1):
        output = torch.zeros(rows, 2)
        output[:off] = 1.0
        ties = NearestRows({"y": output}, right, {"y": 0.5}).may_be_ties
        assert ties is (off == allowed or off > rows)


def test_a_nan_matches_nothing_but_a_nan() -> None:
    nan, inf = float("nan"), float("inf")
    right = {"y": torch.tensor([[1.0, nan], [1.0, inf], [1.0, 2.0], [1.0, 2.0]])}
    output = {"y": torch.tensor([[1.0, nan], [1.0, inf], [1.0, nan], [1.0, -inf]])}
    assert rows_off(output, right, {"y": 0.5})[4].tolist() == [False, False, True, True]


def test_rows_of_eight_bit_floats_are_moved_as_they_are() -> None:
    low, high = torch.full((2, 3), 0.5), torch.full((2, 3), 448.0)
    moved = replace_rows(
        low.to(torch.float8_e4m3fn), high.to(torch.float8_e4m3fn), torch.tensor([False, True])
    )
    assert moved.dtype == torch.float8_e4m3fn
    assert moved.float().tolist() == [[0.5] * 3, [448.0] * 3]


def test_an_element_may_be_off_by_its_budget_and_the_references_own_error() -> None:
    error = OutputError(rms=1e-3, largest=2e-3, truth_rms=1.0, truth_largest=1.0)
    right = {"y": torch.ones(2, 2), "indices": torch.ones(2, 2, dtype=torch.int32)}
    allowed = largest_allowed(right, {"y": error}, ErrorBudget())
    assert allowed["y"] == pytest.approx(4 * 2e-3 + 2e-3)
    assert allowed["indices"] == 1.0  # a distance is 0 or infinite


def test_what_rounding_explains_is_known_from_the_median_row() -> None:
    right = torch.ones(5, 2)
    output = right.to(torch.float64)
    output[:, 0] += torch.tensor([1e-7, 2e-7, 3e-7, 4e-7, 0.5])
    assert usual_largest({"y": output}, {"y": right})["y"] == pytest.approx(16 * 3e-7)


def test_an_element_is_a_row_of_an_output_of_one_dimension() -> None:
    first = {"indices": torch.tensor([3, 5]), "chosen": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}
    other = {"indices": torch.tensor([3, 6]), "chosen": torch.tensor([[1.0, 2.0], [9.0, 9.0]])}
    nearest = NearestRows(other, first, {"indices": 1.0, "chosen": 0.1})
    assert nearest.offer(other)
    assert nearest.taken[2].tolist() == [False, True]
