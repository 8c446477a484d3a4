"""Writes, views and values: the captured graph gives what the program gives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import derive_bound, function_program

Case = tuple[Callable[..., Any], tuple[Any, ...]]
CASES: dict[str, Case] = {}


def rand(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) * 7 + len(shape))
    return torch.randn(shape, generator=generator)


def case(*inputs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = (function, inputs)
        return function

    return register


# -- writes --------------------------------------------------------------------------------------


@case(rand(4, 5))
def write_through_a_slice(x):
    y = x.clone()
    y[1:3, ::2] = 7
    y[:, 4] += x[:, 0]
    return y


@case(rand(4, 6))
def write_through_a_chain_of_views(x):
    y = x.clone()
    y.view(2, 2, 6).transpose(0, 2)[1:4, 0].mul_(3)
    y.t()[2].unsqueeze(0).squeeze().add_(1)
    return y


@case(rand(4, 4))
def alias_read_after_write_elsewhere(x):
    y = x * 1
    row, column, flat = y[1], y[:, 1], y.view(-1)
    row.zero_()
    first = column.clone()
    flat[5] = 9
    return first, row, column + flat[:4]


@case(rand(4, 4))
def diagonal_is_filled(x):
    y = x.clone()
    y.diagonal().fill_(1)
    y.fill_diagonal_(2)
    torch.diagonal(y, 1).copy_(x.diagonal(1) * 2)
    return y


@case(rand(3, 4), rand(3, 4))
def inputs_are_mutated(x, y):
    x.add_(y)
    y[0] = x[1]
    return x.sum()


@case(rand(2, 8, 4), rand(2, 1, 4), torch.tensor(5))
def cache_is_updated_in_a_slice(cache, new, position):
    p = int(position)
    cache[:, p : p + 1] = new
    return cache[:, : p + 1].sum(1)


@case(rand(5, 3), rand(4, 3), torch.tensor([0, 2, 2, 4]))
def indexed_writes(x, y, i):
    a = x.clone().index_put_((i,), y, accumulate=True)
    b = x.clone()
    b[i[:2]] = y[:2]
    c = torch.zeros_like(x).index_add_(0, i, y)
    d = torch.zeros(5, 3).scatter_add_(0, i[:, None].expand(-1, 3), y)
    return a, b, c, d


@case(rand(3, 4), rand(3, 4))
def results_go_to_out_arguments(x, y):
    out = torch.empty(3, 4)
    torch.add(x, y, out=out)
    grown = torch.empty(0)
    torch.mul(out, y, out=grown)
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.long)
    torch.sort(grown, dim=1, out=(values, indices))
    return out, values, indices


@case(rand(3, 4))
def geometry_changes_in_place(x):
    y = x.clone()
    y.t_()
    y[0] = 1
    y.unsqueeze_(0).squeeze_(0).transpose_(0, 1)
    return y


@case([rand(3), rand(4)], [rand(3), rand(4)])
def many_tensors_at_once(xs, ys):
    torch._foreach_add_(xs, ys, alpha=2)
    return torch._foreach_mul(xs, 3)


@case(rand(6, 4))
def writes_in_a_loop(x):
    out = torch.empty(6, 4)
    state = torch.zeros(4)
    for t in range(6):
        state = torch.tanh(state + x[t])
        out[t] = state
    return out


@case(rand(4, 6))
def writes_into_pieces(x):
    y = x.clone()
    a, b = y.chunk(2, dim=1)
    a.mul_(2)
    first, *_ = y.unbind(0)
    first.add_(b[0].sum())
    c, d = y.split([2, 4], dim=1)
    d.copy_(c.repeat(1, 2))
    return y, a, b


@case(rand(4, 4))
def detached_and_data_aliases(x):
    y = x.clone()
    y.detach().add_(1)
    y.data.mul_(2)
    return y


@case(rand(3, 4))
def strided_write(x):
    y = x.clone()
    y.as_strided((2, 2), (4, 1), 1).zero_()
    y.unfold(1, 2, 2)[0].fill_(5)
    return y


@case(rand(3, 2, 2))
def complex_views(x):
    z = torch.view_as_complex(x.clone())
    w = z * torch.polar(torch.ones(2), torch.arange(2.0))
    w.real.add_(1)
    return torch.view_as_real(w), w.conj().imag


# -- views ---------------------------------------------------------------------------------------


@case(rand(2, 3, 4))
def views_of_many_kinds(x):
    a = x.permute(2, 0, 1).reshape(4, 6)
    b = x.unflatten(2, (2, 2)).flatten(0, 1).movedim(0, -1)
    c = x[:, None].expand(2, 5, 3, 4)
    d = x[..., ::2].narrow(1, 1, 2).squeeze()
    e = torch.cat(x.unbind(1), -1) + torch.stack(x.chunk(3, 1), 0).sum()
    f = x.flip(0).roll(1, 2).rot90(1, (0, 1))
    return a, b, c, d, e, f, x.mT, x.swapaxes(0, 2)


@case(rand(2, 3))
def output_is_the_input(x):
    return x, x[0], x


@case(rand(8, 4))
def repeats_and_tiles(x):
    return x.repeat(2, 3), x.repeat_interleave(2, dim=1), x.tile(2), F.pad(x, (1, 2, 0, 1))


@case(rand(4, 6))
def reinterpreted_bits(x):
    return x.view(torch.int32) & 255, x.bfloat16().view(torch.int16)


# -- values --------------------------------------------------------------------------------------


@case(rand(6, 4), torch.tensor([2, 3, 1]))
def loop_over_known_lengths(x, lengths):
    out, start = [], 0
    for length in lengths.tolist():
        out.append(x[start : start + length].softmax(0).sum(0))
        start += length
    return torch.stack(out)


@case(rand(6, 4), torch.tensor([1, 0, 1, 1, 0, 1]).bool())
def boolean_selection(x, mask):
    y = x[mask]
    z = x.clone()
    z[~mask] = 0
    z[mask, 1] = 3
    return y, z, x.masked_select(mask[:, None]), mask.nonzero()


@case(rand(6, 4), torch.tensor([3, 1, 3, 0, 1, 3]))
def counts_and_uniques(x, i):
    counts = torch.bincount(i, minlength=4)
    unique, inverse = torch.unique(i, return_inverse=True)
    y = torch.zeros(len(unique), 4).index_add_(0, inverse, x)
    return y, x.repeat_interleave(counts.repeat(2)[:6], dim=0), (counts > 0).nonzero()


@case(rand(8, 4), rand(3, 4), rand(3, 4, 5))
def routed_experts(x, gate, experts):
    weights, chosen = (x @ gate.t()).softmax(-1).topk(2, dim=-1)
    out = torch.zeros(8, 5)
    for e in range(3):
        token, slot = torch.where(chosen == e)
        if token.numel() == 0:
            continue
        out.index_add_(0, token, (x[token] @ experts[e]) * weights[token, slot][:, None])
    return out


@case(rand(5), torch.tensor(3.0))
def scalar_tensor_decides(x, s):
    if s.item() > 2:
        return x * float(s)
    return x


@case(rand(4, 4), torch.tensor([[0, 2], [1, 3]]), torch.tensor([3, 2]))
def paged_gather(pages, table, lengths):
    out = []
    for b in range(2):
        keys = pages[table[b]].reshape(-1, 2)[: lengths[b]]
        out.append(keys.mean(0))
    return torch.stack(out)


@case(rand(4, 3))
def literals_and_globals(x):
    table = torch.tensor([[1.0, 2.0, 3.0]])
    order = torch.tensor([2, 0, 1])
    return (x * table)[:, order] + GLOBAL[:3]


GLOBAL = torch.arange(5.0)


@pytest.mark.parametrize("name", CASES)
def test_replay_equals_program(name: str, assert_exact: Callable[..., None]) -> None:
    assert_exact(*CASES[name])


@pytest.mark.parametrize(
    ("function", "written"),
    [
        # 32 floats are read; a number has the width of the tensor that it comes from
        (lambda x: float(x.sum()), 4),
        (lambda x: [x.sum().item(), x.numel()], 4),
        # a count or a truth is read and not stored
        (lambda x: int((x > 0).sum()), 0),
        (lambda x: bool((x > 0).any()), 0),
    ],
)
def test_a_program_that_returns_numbers_only_has_a_bound(
    function: Callable[..., Any], written: int
) -> None:
    (bound,) = derive_bound(function_program(function, (torch.rand(8, 4),)), "h200")
    assert bound.error is None
    assert bound.dram_read_bytes == 32 * 4
    assert bound.dram_write_bytes == written


def test_a_program_that_returns_numbers_of_its_own_is_an_error() -> None:
    (bound,) = derive_bound(function_program(lambda x: x.numel(), (torch.rand(8, 4),)), "h200")
    assert bound.error is not None and "returned no tensor" in bound.error


_THIRTY_GIBIBYTES = """
import resource, torch
from solbench.bound import derive_bound, function_program

PAGES, PAGE, HEADS, WIDTH = 15 << 15, 16, 8, 128  # 15 GiB of bf16, twice

def attend(query, keys, values, table, lengths):
    outputs = []
    for sequence in range(query.shape[0]):
        length = int(lengths[sequence])
        pages = table[sequence, : (length + PAGE - 1) // PAGE]
        k, v = (c[pages].reshape(-1, HEADS, WIDTH)[:length] for c in (keys, values))
        scores = torch.einsum("hd,nhd->hn", query[sequence], k).softmax(-1)
        outputs.append(torch.einsum("hn,nhd->hd", scores, v))
    return torch.stack(outputs)

def empty(*shape):
    return torch.empty(*shape, dtype=torch.bfloat16, device="meta")

cache = PAGES, PAGE, HEADS, WIDTH
assert 2 * 2 * PAGES * PAGE * HEADS * WIDTH == 30 << 30
table = torch.arange(2 * 64).reshape(2, 64) * 1000
small = function_program(lambda x: x + 1, (torch.empty(4, device="meta"),))
derive_bound(small, "h200")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
program = function_program(
    attend, (empty(2, HEADS, WIDTH), empty(*cache), empty(*cache), table, torch.tensor([100, 1000]))
)
(bound,) = derive_bound(program, "h200")
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
print(bound.capture, bound.matrix_flops["bf16"], bound.dram_read_bytes, grown)
"""


def test_a_paged_cache_of_thirty_gibibytes_takes_no_memory() -> None:
    """In a process of its own: the peak of memory never falls."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _THIRTY_GIBIBYTES],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    rung, flops, read, grown_mebibytes = run.stdout.split()
    assert rung == "values"
    # 1100 positions, 8 heads, 128 wide: scores and their sum
    assert int(flops) == 2 * 2 * 1100 * 8 * 128
    # their keys and values, both queries, two lengths, and the 7 + 63 pages that the tables name
    assert int(read) == 2 * 2 * 1100 * 8 * 128 + 2 * 2 * 8 * 128 + 2 * 8 + 70 * 8
    assert int(grown_mebibytes) < 200
