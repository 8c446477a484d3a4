"""One-hot codes and gates of chosen experts: which elements are not zero is not known, but how many."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import Demand, function_program
from solbench.bound._analyse import demand_of as analysed
from solbench.bound.ir import lift_program, read_ir, write_ir

DemandOf = Callable[..., Demand]


def m(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta")


def nearest(x: Any, codes: Any) -> Any:
    return ((x**2).sum(1, keepdim=True) - 2 * x @ codes.T + (codes**2).sum(1)).argmin(1)


def by_one_hot(x: Any, codes: Any) -> Any:
    return F.one_hot(nearest(x, codes), 16).float() @ codes


def by_scatter(x: Any, codes: Any) -> Any:
    return torch.zeros(64, 16).scatter_(1, nearest(x, codes)[:, None], 1) @ codes


def by_comparison(x: Any, codes: Any) -> Any:
    return (nearest(x, codes)[:, None] == torch.arange(16)).float() @ codes


@pytest.mark.parametrize("function", [by_one_hot, by_scatter, by_comparison])
def test_looking_up_a_code_is_no_product(function: Any, demand_of: DemandOf) -> None:
    # the distances are one: 64 · 16 sums of 8
    assert demand_of(function, m(64, 8), m(16, 8)).matrix_flops == {"fp32": 2 * 64 * 16 * 8}


def gates_by_scatter(x: Any, router: Any) -> Any:
    weights, chosen = (x @ router).softmax(-1).topk(2)
    return torch.zeros(6, 4).scatter(1, chosen, weights)


def gates_by_one_hot(x: Any, router: Any) -> Any:
    weights, chosen = (x @ router).softmax(-1).topk(2)
    return (F.one_hot(chosen, 4) * weights[..., None]).sum(1)


@pytest.mark.parametrize("gates", [gates_by_scatter, gates_by_one_hot])
def test_experts_that_no_gate_opens_are_not_run(gates: Any, demand_of: DemandOf) -> None:
    def run(x: Any, router: Any, up: Any, down: Any) -> Any:
        hidden = torch.relu(torch.einsum("td,edh->teh", x, up))
        return (torch.einsum("teh,ehd->ted", hidden, down) * gates(x, router)[..., None]).sum(1)

    found = demand_of(run, m(6, 8), m(8, 4), m(4, 8, 16), m(4, 16, 8))
    # the router, two of four experts a token, and the weighted sum of two results at most
    least = 6 * 8 * 4 + 6 * 2 * 2 * 8 * 16
    assert least <= found.matrix_flops["fp32"] // 2 <= least + 6 * 2 * 8
    # the matrices of two experts, if all tokens choose the same
    assert found.dram_read_bytes == 4 * (6 * 8 + 8 * 4 + 2 * 2 * 8 * 16)


def test_dispatching_rows_to_slots_is_no_product(demand_of: DemandOf) -> None:
    def run(x: Any, router: Any) -> Any:
        chosen = F.one_hot((x @ router).argmax(-1), 4)
        place = ((chosen.cumsum(0) - 1) * chosen).sum(-1)
        kept = (chosen * (place < 2)[:, None])[:, :, None]
        dispatch = kept * F.one_hot(place.clamp(max=1), 2)[:, None]
        return torch.einsum("tec,td->ecd", dispatch.float(), x)

    assert demand_of(run, m(8, 6), m(6, 4)).matrix_flops == {"fp32": 2 * 8 * 6 * 4}


@pytest.mark.parametrize(
    ("weights", "summed"),
    [
        (lambda x: F.one_hot(x.argmax(-1), 10).float() * 0.9 + 0.01, 10),  # no element is zero
        (lambda x: x.softmax(-1) - F.one_hot(x.argmax(-1), 10), 10),
        (lambda x: torch.full((4, 10), 0.1).scatter(-1, x.topk(3)[1], x.topk(3)[0]), 10),
        (lambda x: torch.zeros(4, 10).scatter(-1, x.topk(3)[1], x.topk(3)[0]), 3),
        (lambda x: F.one_hot(x.argmax(-1), 10).float().cumsum(-1), 10),
    ],
)
def test_weights_that_are_not_few_count(weights: Any, summed: int, demand_of: DemandOf) -> None:
    found = demand_of(lambda x, w: weights(x) @ w, m(4, 10), m(10, 8))
    assert sum(found.matrix_flops.values()) == 2 * 4 * summed * 8


def test_what_is_known_of_few_elements_comes_back_from_a_file(tmp_path: Path) -> None:
    program = lift_program(function_program(by_comparison, (m(64, 8), m(16, 8))))
    write_ir(program, tmp_path / "graph.yaml")
    back = read_ir(tmp_path / "graph.yaml")
    assert analysed(back.lifted).matrix_flops == {"fp32": 2 * 64 * 16 * 8}
