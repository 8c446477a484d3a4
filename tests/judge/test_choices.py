"""What a program might as well have chosen: between values that all but tie, and nowhere else."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from solbench.judge._choices import Choices
from solbench.judge._pushes import Push, pushes

ULP = 2.0**-23


def choices(program: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> Choices:
    def run(mode: Any) -> dict[str, torch.Tensor]:
        with mode:
            return {"y": program(*inputs)}

    return Choices(run)


def selections(program: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> list[Any]:
    return [each["y"].tolist() for each in choices(program, *inputs).other_selections(60)]


def roundings(program: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> list[Any]:
    return [each["y"].tolist() for each in choices(program, *inputs).other_roundings(60)]


@pytest.mark.parametrize("width", [2, 3, 8, 37])
def test_any_two_places_of_a_line_are_pushed_apart_in_both_directions(width: int) -> None:
    line = torch.zeros(3, width)
    signs = [push.of(line)[1] for push in pushes(width)]
    for one, other in itertools.permutations(range(width), 2):
        assert any(sign[one] > 0 > sign[other] for sign in signs)
    # Along the other dimension too: an argmax may go down a column.
    assert all(
        Push(0, 1.0).of(line)[0, each] != Push(0, 1.0).of(line)[1, each] for each in range(width)
    )


def best_of_product(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    return (x @ gate).topk(2, dim=-1).indices


def test_sums_that_differ_by_their_last_bits_may_be_chosen_in_either_order() -> None:
    # Scores 3, 3 + 2 units in the last place, 1: the first two change places, the third never gets in.
    x, gate = torch.ones(1, 1), torch.tensor([[3.0, 3.0 + 4 * ULP, 1.0]])
    assert choices(best_of_product, x, gate).outputs["y"].tolist() == [[1, 0]]
    found = selections(best_of_product, x, gate)
    assert found
    assert all(each == [[0, 1]] for each in found)


def test_sums_that_are_well_apart_are_chosen_in_one_order() -> None:
    x, gate = torch.ones(1, 1), torch.tensor([[3.0, 3.001, 1.0]])
    assert selections(best_of_product, x, gate) == []


def test_a_program_that_chooses_from_its_inputs_has_no_excuse_for_the_last_bit() -> None:
    scores = torch.tensor([[3.0, 3.0 + 4 * ULP, 1.0]])
    assert selections(lambda s: s.topk(2).indices, scores) == []


def test_equal_inputs_may_come_in_either_order() -> None:
    scores = torch.tensor([[3.0, 1.0, 3.0], [0.0, 0.0, -1.0]])
    own = choices(lambda s: s.topk(2).indices, scores).outputs["y"]
    found = selections(lambda s: s.topk(2).indices, scores)
    rows = {row for each in [own.tolist(), *found] for row in map(tuple, each)}
    assert rows == {(0, 2), (2, 0), (0, 1), (1, 0)}
    assert own.tolist() not in found


def test_what_another_choice_gives_is_exact_for_it() -> None:
    def chosen_values(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        best = (x @ gate).topk(2, dim=-1)
        return torch.cat([best.values, best.indices.float()], dim=-1)

    x, gate = torch.ones(1, 1), torch.tensor([[3.0, 3.0 + 4 * ULP, 1.0]])
    # The values are those of the unpushed product, in the other order.
    assert selections(chosen_values, x, gate)[0] == [[3.0, 3.0 + 4 * ULP, 0.0, 1.0]]


@pytest.mark.parametrize(
    "select",
    [
        lambda s: s.argmax(dim=-1),
        lambda s: (-s).argmin(dim=-1),
        lambda s: s.max(dim=-1).indices,
        lambda s: s.sort(dim=-1, descending=True).indices[:, 0],
        lambda s: s.argsort(dim=-1, descending=True)[:, 0],
        lambda s: s.T.argmax(dim=0),
        lambda s: torch.softmax(s, dim=-1).topk(1).indices[:, 0],
    ],
)
def test_every_way_to_select_is_known(select: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x, gate = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0, 3.0 + 4 * ULP, 1.0]])
    program = lambda x, gate: select(x @ gate)  # noqa: E731 - one line, used twice
    assert choices(program, x, gate).outputs["y"].tolist() == [1, 1]
    rows = {row for each in selections(program, x, gate) for row in enumerate(each)}
    assert rows >= {(0, 0), (1, 0)}


def test_a_second_choice_follows_the_first() -> None:
    """Of two groups that all but tie the other is kept, and what is best in it."""

    def grouped(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        scores = (x @ gate).view(1, 2, 2)
        kept = scores.amax(-1).argmax(-1)
        return kept * 2 + scores[0, kept].argmax(-1)

    x, gate = torch.ones(1, 1), torch.tensor([[1.0, 5.0, 5.0 + 8 * ULP, 2.0]])
    assert choices(grouped, x, gate).outputs["y"].tolist() == [2]
    assert {tuple(each) for each in selections(grouped, x, gate)} == {(1,)}


def test_whole_numbers_and_programs_that_choose_nothing_have_no_other_answer() -> None:
    whole = choices(lambda x: x.sort().indices, torch.tensor([2, 1, 1]))
    assert not whole.selects
    plain = choices(lambda x: x * 3 + 1, torch.ones(4))
    assert not plain.selects
    assert not plain.rounds
    assert list(plain.other_selections(60)) == []
    assert list(plain.other_roundings(60)) == []


def test_a_quotient_that_lies_all_but_halfway_may_be_rounded_either_way() -> None:
    # 448 / 7 = 64 and 21 are what a row's largest 7 and an element 21/64 become: halfway between 20 and 22.
    def quantise(x: torch.Tensor) -> torch.Tensor:
        scale = x.abs().amax(-1, keepdim=True) / 448.0
        return (x / scale).to(torch.float8_e4m3fn).float()

    x = torch.zeros(1, 64)
    x[0, :2] = torch.tensor([7.0, 21 / 64])
    own = choices(quantise, x).outputs["y"][0, 1].item()
    found = roundings(quantise, x)
    assert {own, *(each[0][1] for each in found)} == {20.0, 22.0}
    assert all(each[0][0] == 448.0 and not any(each[0][2:]) for each in found)


def test_a_quotient_that_lies_between_is_rounded_one_way() -> None:
    x = torch.zeros(1, 64)
    x[0, :2] = torch.tensor([448.0, 20.5])
    assert roundings(lambda x: (x / 1.0).to(torch.float8_e4m3fn).float(), x) == []


def test_an_input_that_is_rounded_as_it_comes_is_rounded_one_way() -> None:
    x = torch.tensor([[448.0, 21.0]])
    assert roundings(lambda x: x.to(torch.float8_e4m3fn).float(), x) == []


def test_nothing_is_begun_when_patience_is_over() -> None:
    x, gate = torch.ones(1, 1), torch.tensor([[3.0, 3.0 + 4 * ULP, 1.0]])
    assert list(choices(best_of_product, x, gate).other_selections(0)) == []
