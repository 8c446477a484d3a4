"""Masked products without a softmax, as a kernel does them that carries states.

Of 4 positions with 2 channels and 2 value channels a pair costs 2 + 2 multiply-adds, a state 2·2 to put a
position into it and 2·2 to read it. The triangle has 10 pairs, 40 multiply-adds as written. Cheaper: positions
0 to 2 enter a state (12), positions 1 to 3 read it (12), and two pairs are left, (0, 0) and (3, 3): 32 in all.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from solbench.bound import Demand, function_program
from solbench.bound._analyse import demand_of as analysed
from solbench.bound._prefix_least import Counts, Prices, least, parts
from solbench.bound._prefix_tables import is_separate
from solbench.bound.ir import lift_program, read_ir, write_ir

DemandOf = Callable[..., Demand]
N, D = 4, 2
WRITTEN, STATES = 40, 32
LONG = 16
"""Positions where also the second product alone is worth states."""


def t(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, device="meta", dtype=dtype)


def qkv(*batch: int, n: int = N) -> tuple[torch.Tensor, ...]:
    return t(*batch, n, D), t(*batch, n, D), t(*batch, n, D)


def past(n: int = N) -> torch.Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()


def distance(n: int = N) -> torch.Tensor:
    return torch.arange(n)[:, None] - torch.arange(n)[None]


def cheapest(pair: float, row: float, column: float, n: int) -> float:
    """Of a triangle, by trying: the first ``y`` columns enter a state, rows from ``x`` on read it."""
    found = []
    for x in range(n + 1):
        for y in range(n + 1):
            left = sum(j >= y or i < x for i in range(n) for j in range(i + 1))
            found.append(pair * left + row * (n - x) + column * y)
    return min(found)


def test_the_example_of_the_head_of_this_file() -> None:
    assert cheapest(D + D, D * D, D * D, N) == STATES


# ---- where states are allowed ----


def decayed(q: Any, k: Any, v: Any, c: Any) -> Any:
    faded = torch.exp((c[..., :, None] - c[..., None, :]).masked_fill(~past(), -torch.inf))
    return (q @ k.mT * faded) @ v


def decayed_by_steps(q: Any, k: Any, v: Any, steps: Any) -> Any:
    table = steps[:, None].expand(N, N).masked_fill(~past().tril(-1), 0)
    return (q @ k.mT * torch.exp(table.cumsum(0).masked_fill(~past(), -torch.inf))) @ v


def retention(q: Any, k: Any, v: Any) -> Any:
    slopes = torch.log(1 - 2.0 ** (-5 - torch.arange(3)))
    return (q @ k.mT * torch.exp(distance() * slopes[:, None, None]).tril()) @ v


def in_chunks(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (x.view(2, N, D) for x in (q, k, v))
    return (q @ k.mT).tril() @ v


def padded(q: Any, k: Any, v: Any) -> Any:
    real = torch.arange(N) < torch.tensor([2, N])[:, None]
    return (q @ k.mT).masked_fill(~(real[:, None, None] & past()), 0) @ v


def scores_einsum(q: Any, k: Any, v: Any) -> Any:
    scores = torch.einsum("bihd,bjhd->bhij", q, k).tril()
    return torch.einsum("bhij,bjhe->bihe", scores, v)


CASES: list[tuple[str, Callable[..., Any], tuple[torch.Tensor, ...], int]] = [
    ("tril", lambda q, k, v: torch.tril(q @ k.mT) @ v, qkv(), STATES),
    ("a factor of zeros and ones", lambda q, k, v: (q @ k.mT * past()) @ v, qkv(), STATES),
    ("where", lambda q, k, v: torch.where(past(), q @ k.mT, 0.0) @ v, qkv(), STATES),
    ("masked fill", lambda q, k, v: (q @ k.mT).masked_fill(~past(), 0) @ v, qkv(), STATES),
    ("batch and heads", lambda q, k, v: torch.tril(q @ k.mT) @ v, qkv(5, 3), 15 * STATES),
    ("values first", lambda q, k, v: v.mT @ torch.triu(k @ q.mT), qkv(), STATES),
    ("einsum", scores_einsum, (t(5, N, 3, D), t(5, N, 3, D), t(5, N, 3, D)), 15 * STATES),
    # strictly before: the triangle of one position less
    ("the past alone", lambda q, k, v: torch.tril(q @ k.mT, -1) @ v, qkv(n=N + 1), STATES),
    ("the future", lambda q, k, v: torch.triu(q @ k.mT, 1) @ v, qkv(n=N + 1), STATES),
    ("chunks", in_chunks, qkv(n=2 * N), 2 * STATES),
    ("a constant decay",
     lambda q, k, v: (q @ k.mT * torch.where(past(), 0.9 ** distance().float(), 0.0)) @ v, qkv(), STATES),
    ("a decay of the distance",
     lambda q, k, v: (q @ k.mT * (0.9 ** distance().abs())).tril() @ v, qkv(), STATES),
    ("a clamped distance",
     lambda q, k, v: (q @ k.mT * (0.9 ** distance().clamp(min=0))).tril() @ v, qkv(), STATES),
    ("a decay for each head", retention, qkv(3), 3 * STATES),
    ("a decay of the data", decayed, (*qkv(), t(N)), STATES),
    ("decays of heads", decayed, (*qkv(3), t(3, N)), 3 * STATES),
    ("a running sum of steps", decayed_by_steps, (*qkv(), t(N)), STATES),
    ("factors of both positions",
     lambda q, k, v, u, w: (u[:, None] * (q @ k.mT).tril() / w) @ v, (*qkv(), t(N), t(N)), STATES),
    ("a decay for each channel",
     lambda q, k, v, c: (q * c.exp() @ (k * torch.exp(-c)).mT).tril() @ v, (*qkv(), t(N, D)), STATES),
    # the sum of a row reads a state of 2 elements: its pairs cost 2 each, of which the first row has one
    ("sums of the rows", lambda q, k: torch.tril(q @ k.mT).sum(-1), qkv()[:2], 4 * D),
    # 4 query heads read the states of 2 key heads: to put in 2·4, to read 4·4, a pair 4·(2 + 2)
    ("grouped heads",
     lambda q, k, v: torch.tril(q @ k.repeat_interleave(2, 0).mT) @ v.repeat_interleave(2, 0),
     (t(4, N, D), t(2, N, D), t(2, N, D)), int(cheapest(16, 16, 8, N))),
    # heads that share keys and values: 4 positions put in (16), 9 of 12 queries read (36), 3 pairs left (12)
    ("one head of keys and values",
     lambda q, k, v: ((q.reshape(3 * N, D) @ k.mT).view(3, N, N)).tril() @ v,
     (t(3, N, D), t(N, D), t(N, D)), 64),
    # the sequence of length 2: 2 positions put in (8), 3 read (12), a pair (4)
    ("lengths of a batch with heads", padded, qkv(2, 3), 3 * (24 + STATES)),
    # scores of all heads, decays of each: a pair costs 2 + 3·2
    ("heads that share keys and queries", lambda q, k, v, c: decayed(q, k, v, c),
     (t(N, D), t(N, D), t(3, N, D), t(3, N)), int(cheapest(8, 12, 12, N))),
    # a matrix of decays alone is a running sum
    ("decays alone",
     lambda v, c: torch.exp((c[:, None] - c[None]).masked_fill(~past(), -torch.inf)) @ v, (t(N, D), t(N)), 0),
    # chunk 1: S takes 16, so its states cost nothing more; 3 rows read them (12), the first is one pair (4).
    # chunk 2: each row reads S (16) and what its own 4 positions add to it, which are put in (16)
    ("chunks with a state between them",
     lambda q, k, v: [
         torch.tril(q[:N] @ k[:N].mT) @ v[:N],
         torch.tril(q[N:] @ k[N:].mT) @ v[N:] + q[N:] @ (k[:N].mT @ v[:N]),
     ], qkv(n=2 * N), 64),
    # the pairs are an output as well: of the 136 only the second half, 2 a pair, may be had from states
    ("pairs that are returned",
     lambda q, k, v: (a := torch.tril(q @ k.mT), a @ v), qkv(n=LONG), 136 * D + int(cheapest(2, 4, 4, LONG))),
    ("pairs that are normalised by their magnitude",
     lambda q, k, v: ((a := torch.tril(q @ k.mT)) / a.abs().sum(-1, keepdim=True)) @ v,
     qkv(n=LONG), 136 * D + int(cheapest(2, 4, 4, LONG))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "inputs", "macs"),
    [c[1:] for c in CASES],
    ids=[c[0].replace(" ", "_") for c in CASES],
)
def test_states_count_where_they_cost_less_than_pairs(
    demand_of: DemandOf,
    program: Callable[..., Any],
    inputs: tuple[torch.Tensor, ...],
    macs: int,
) -> None:
    flops = demand_of(program, *inputs).matrix_flops
    assert flops == ({"fp32": 2 * macs} if macs else {})


# ---- where they are not ----


def softmax(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax((q @ k.mT).masked_fill(~past(), -torch.inf), -1) @ v


def other_sum_of_steps(q: Any, k: Any, v: Any, steps: Any) -> Any:
    """Along the columns: the sum up to j of steps that differ by row is no sum from j to i."""
    table = (steps[:, None] * torch.arange(N)).tril()
    return (q @ k.mT * torch.exp(table.cumsum(0).masked_fill(~past(), -torch.inf))) @ v


REFUSED: list[tuple[str, Callable[..., Any], tuple[torch.Tensor, ...]]] = [
    ("a softmax", softmax, qkv()),
    ("any matrix of factors", lambda q, k, v, m: (q @ k.mT * m).tril() @ v, (*qkv(), t(N, N))),
    ("an exponential of the pairs", lambda q, k, v: torch.exp(q @ k.mT).tril() @ v, qkv()),
    ("pairs cut off at zero", lambda q, k, v: torch.relu(q @ k.mT).tril() @ v, qkv()),
    ("pairs that are squared", lambda q, k, v: ((a := q @ k.mT) * a).tril() @ v, qkv()),
    ("a sum of decays", lambda q, k, v, c: (q @ k.mT * (c[:, None] + c[None])).tril() @ v, (*qkv(), t(N))),
    ("a rounded decay of the data",
     lambda q, k, v, c: (q @ k.mT * torch.exp(torch.floor(c[:, None] - c[None]))).tril() @ v, (*qkv(), t(N))),
    ("another sum of steps", other_sum_of_steps, (*qkv(), t(N))),
    ("pairs that are returned, and few", lambda q, k, v: (a := torch.tril(q @ k.mT), a @ v), qkv()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "inputs"), [c[1:] for c in REFUSED], ids=[c[0].replace(" ", "_") for c in REFUSED]
)
def test_pairs_count_where_no_state_can_replace_them(
    demand_of: DemandOf, program: Callable[..., Any], inputs: tuple[torch.Tensor, ...]
) -> None:
    assert demand_of(program, *inputs).matrix_flops == {"fp32": 2 * WRITTEN}


def test_a_scattered_mask_leaves_the_pairs(demand_of: DemandOf) -> None:
    # every second column, the others in the next row: 16 intervals a row
    n = 32
    mask = (torch.arange(n)[:, None] + torch.arange(n)[None]) % 2 == 0
    program = lambda q, k, v: (q @ k.mT * mask) @ v  # noqa: E731
    assert demand_of(program, *qkv(n=n)).matrix_flops == {"fp32": 2 * n * n // 2 * 2 * D}


def test_one_query_multiplies_pairs(demand_of: DemandOf) -> None:
    # the last row of 4 pairs, 2 + 2 each
    program = lambda q, k, v: (torch.tril(q @ k.mT) @ v)[-1]  # noqa: E731
    assert demand_of(program, *qkv()).matrix_flops == {"fp32": 2 * 16}


# ---- more than one product of the same pairs ----


def test_gradients_share_pairs_and_states(demand_of: DemandOf) -> None:
    """Forward: pairs P of q and k, and v. Backward: pairs R of the result's gradient and v.

    v's gradient reads P again, q's and k's read R. The sums of k and v serve the forward and q's gradient,
    those of q and the gradient the other two. So half of every product of pairs, and of every state, is paid
    by each of the four: 1 + 2 a pair, 4 to read a state, 2 to put a position into it.
    """

    def program(q: Any, k: Any, v: Any, grad: Any) -> Any:
        out = torch.tril(q @ k.mT) @ v
        return (out, *torch.autograd.grad(out, (q, k, v), grad))

    inputs = [torch.zeros(LONG, D, requires_grad=True) for _ in range(3)]
    macs = demand_of(program, *inputs, torch.zeros(LONG, D)).matrix_flops["fp32"] // 2
    assert macs == 4 * cheapest(3, 4, 2, LONG)


def test_the_gradient_of_a_decay_needs_no_pairs(demand_of: DemandOf) -> None:
    def program(q: Any, k: Any, v: Any, c: Any, grad: Any) -> Any:
        faded = torch.exp((c[:, None] - c[None]).masked_fill(~past(LONG), -torch.inf))
        out = (q @ k.mT * faded) @ v
        return (out, *torch.autograd.grad(out, (q, k, v, c), grad))

    inputs = [torch.zeros(LONG, D, requires_grad=True) for _ in range(3)]
    c = torch.zeros(LONG, requires_grad=True)
    macs = demand_of(program, *inputs, c, torch.zeros(LONG, D)).matrix_flops["fp32"] // 2
    assert macs == 4 * cheapest(3, 4, 2, LONG)


# ---- sizes ----


@pytest.mark.parametrize(
    "program",
    [
        lambda q, k, v: torch.tril(q @ k.mT) @ v,
        lambda q, k, v: (
            (q @ k.mT * 0.9 ** distance(len(q)).clamp(min=0) * (distance(len(q)) >= 0)) @ v
        ),
    ],
    ids=["plain", "a table that is too large to keep"],
)
def test_a_long_sequence_is_linear_in_its_length(
    demand_of: DemandOf, program: Callable[..., Any]
) -> None:
    # 128 channels: a pair costs 256, a state 128², as much as 64 pairs. Rows and columns with more pairs use
    # it; the first 64 rows and the last 64 columns keep a triangle of 64·65/2 pairs each
    n, c = 1 << 14, 128
    macs = 2 * (n - 64) * c * c + 64 * 65 * 2 * c
    inputs = [t(n, c, dtype=torch.bfloat16) for _ in range(3)]
    assert demand_of(program, *inputs).matrix_flops == {"bf16": 2 * macs}


@pytest.mark.parametrize(
    ("n", "channels", "values"), [(8, 16, 16), (64, 8, 4), (200, 8, 8), (96, 2, 16)]
)
def test_no_recurrence_and_no_chunks_cost_less(
    demand_of: DemandOf, n: int, channels: int, values: int
) -> None:
    inputs = t(n, channels), t(n, channels), t(n, values)
    macs = demand_of(lambda q, k, v: torch.tril(q @ k.mT) @ v, *inputs).matrix_flops["fp32"] // 2
    written = n * (n + 1) // 2 * (channels + values)
    found = [written]
    for length in range(1, n):
        ends = [min(length, n - start) for start in range(0, n, length)]
        inside = sum(m * (m + 1) // 2 for m in ends) * (channels + values)
        # the last chunk is not handed on, the first one reads nothing
        handed_on = (n - ends[-1]) + (n - ends[0])
        found.append(inside + handed_on * channels * values)
    assert macs <= min(found)
    assert 2 * macs > min(found)


# ---- states that the program writes out ----


def as_running_sums(q: Any, k: Any, v: Any) -> Any:
    return torch.einsum("id,ide->ie", q, (k[:, :, None] * v[:, None]).cumsum(0))


def heads_as_running_sums(q: Any, k: Any, v: Any) -> Any:
    states = torch.einsum("bhid,bhie->bhide", k, v).cumsum(2)
    return torch.einsum("bhid,bhide->bhie", q, states)


def step_by_step(q: Any, k: Any, v: Any, *given: Any) -> Any:
    state, read = given[0] if given else torch.zeros(q.shape[1], v.shape[1]), []
    for query, key, value in zip(q, k, v, strict=True):
        state = state * 0.9 + key[:, None] * value
        read.append(query @ state)
    return torch.stack(read)


def gated_step_by_step(q: Any, k: Any, v: Any, gates: Any) -> Any:
    state, read = torch.zeros(q.shape[1], v.shape[1]), []
    for query, key, value, gate in zip(q, k, v, gates, strict=True):
        state = gate[:, None] * state + torch.outer(key, value)
        read.append((query[:, None] * state).sum(0))
    return torch.stack(read)


def eights(*lead: int, count: int = 3) -> tuple[torch.Tensor, ...]:
    return tuple(t(*lead, 8) for _ in range(count))


# 8 channels: a pair costs 16, reading a state 64. Of 6 positions the first 4 have 1, 2, 3, 4 pairs: 160
SHORT = 160 + 2 * 64


@pytest.mark.parametrize(
    ("program", "inputs", "macs"),
    [
        (as_running_sums, eights(6), SHORT),
        (heads_as_running_sums, eights(2, 3, 6), 6 * SHORT),
        (step_by_step, eights(6), SHORT),
        (gated_step_by_step, eights(6, count=4), SHORT),
        # a state that is given has to be read
        (step_by_step, (*eights(6), t(8, 8)), 6 * 64),
    ],
    ids=["running sums", "heads", "step by step", "gates", "a state that is given"],
)
def test_a_state_of_few_terms_is_not_put_together(
    demand_of: DemandOf,
    program: Callable[..., Any],
    inputs: tuple[torch.Tensor, ...],
    macs: int,
) -> None:
    assert demand_of(program, *inputs).matrix_flops == {"fp32": 2 * macs}


# ---- the least number ----


def subsets(n: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(n), m) for m in range(n + 1)))


def by_trying(mask: np.ndarray, prices: Prices) -> Fraction:
    """Every choice of rows that read a state and of columns that enter one."""
    found = []
    for rows in subsets(mask.shape[0]):
        for columns in subsets(mask.shape[1]):
            left = mask.copy()
            left[np.ix_(rows, columns)] = False
            spent = prices.row * len(rows) + prices.column * len(columns)
            found.append(spent + prices.pair * int(left.sum()))
    return min(found)


PRICES = [
    Prices(Fraction(4), Fraction(4), Fraction(4)),
    Prices(Fraction(3), Fraction(5), Fraction(2)),
    Prices(Fraction(7, 2), Fraction(0), Fraction(6)),
    Prices(Fraction(2), Fraction(9), Fraction(0)),
]


@pytest.mark.parametrize("prices", PRICES, ids=str)
@pytest.mark.parametrize("diagonal", [-1, 0, 2])
def test_the_least_of_a_triangle_is_that_of_every_choice(prices: Prices, diagonal: int) -> None:
    mask = np.tril(np.ones((5, 5), dtype=np.bool_), diagonal)
    (counts,) = parts(mask) or ()
    assert least(counts, prices) == by_trying(mask, prices)


@pytest.mark.parametrize("prices", PRICES, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_the_least_of_any_mask_is_never_too_large(prices: Prices, seed: int) -> None:
    mask = np.random.default_rng(seed).random((4, 5)) < 0.6
    counts = Counts(mask.sum(axis=1), mask.sum(axis=0))
    assert least(counts, prices) <= by_trying(mask, prices)


def test_documents_are_triangles_of_their_own() -> None:
    # two documents of 2 and 3 positions
    mask = np.zeros((5, 5), dtype=np.bool_)
    mask[:2, :2], mask[2:, 2:] = np.tril(np.ones((2, 2))), np.tril(np.ones((3, 3)))
    found = [(c.nested, sorted(c.rows)) for c in parts(mask) or ()]
    assert found == [(True, [1, 2]), (True, [1, 2, 3])]


def test_a_window_shares_the_cost_of_its_pairs() -> None:
    # far from the ends a row and a column have 3 pairs of 4 each; a state for either costs 2: 4 a position
    behind = np.subtract.outer(np.arange(300), np.arange(300))
    mask = (behind >= 0) & (behind < 3)
    (counts,) = parts(mask) or ()
    prices = Prices(Fraction(4), Fraction(2), Fraction(2))
    # rows of 1, 2 and 3 pairs pay min(2, 2, 4, 6): all of them 2
    assert (counts.nested, least(counts, prices)) == (False, 2 * 300 + 2 * 300)


def test_a_table_separates_if_its_rows_are_multiples_of_each_other() -> None:
    mask = np.tril(np.ones((6, 6), dtype=np.bool_))
    decays = np.tril(0.5 ** np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    assert is_separate(decays, mask, 1e-5, sums=False)
    decays[4, 1] *= 1.001
    assert not is_separate(decays, mask, 1e-5, sums=False)
    distances = np.subtract.outer(np.arange(6.0), np.arange(6.0))
    assert is_separate(distances, mask, 1e-5, sums=True)
    assert not is_separate(distances, mask, 1e-5, sums=False)


def test_a_graph_without_its_tables_gives_the_same_bound(tmp_path: Path) -> None:
    table = torch.from_numpy(np.tril(0.9 ** np.subtract.outer(np.arange(N), np.arange(N)))).float()
    program = function_program(lambda q, k, v: (q @ k.mT * table) @ v, qkv())
    lifted = lift_program(program)
    pytest.importorskip("yaml")
    write_ir(lifted, tmp_path / "graph.yaml")
    back = read_ir(tmp_path / "graph.yaml")
    assert analysed(back.lifted).matrix_flops == analysed(lifted.lifted).matrix_flops
    assert analysed(back.lifted).matrix_flops == {"fp32": 2 * STATES}
