"""T_attainable term by term: hand-worked on a made-up device with round numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from solbench.bound import Demand, Term, analyse, capture, function_program, price
from solbench.bound._cache_terms import pieces, traffic_floor
from solbench.bound._result import Chain, Contraction
from solbench.hardware import Calibration, Hardware, load_hardware


def device(**changes: object) -> Hardware:
    """10 SMs at 1000 MHz: 1e10 SM clocks a second; 1 TB/s; 1 MB of L2; 10 kB on chip beside it."""
    settings_: dict[str, object] = {
        "name": "made_up", "title": "Made up", "sm_count": 10,
        "matrix_flops_per_sm_per_clk": {"bf16": 1000.0}, "simt_flops_per_sm_per_clk": {"fp32": 100.0},
        "clocks_mhz": {"max": 1000.0}, "default_clock": "max", "dram_bytes_per_s": 1e12,
        "l2_bytes": 1_000_000, "l2_bytes_per_s": 5e12, "shared_bytes_per_sm": 500,
        "register_bytes_per_sm": 500, "launch_floor_us": 2.0, "sources": {},
        "special_ops_per_sm_per_clk": 10.0, "shared_bytes_per_sm_per_clk": 20.0,
    }  # fmt: skip
    return Hardware(**{**settings_, **changes})  # type: ignore[arg-type]


def demand(**changes: object) -> Demand:
    plain = Demand(
        matrix_flops={}, vector_ops=0, dram_read_bytes=1000, dram_write_bytes=0, intermediate_bytes=0,
        launches=1, nodes=(), traffic=(), removed=(), unknown_ops=(), assumptions=(),
        precision="declared", capture="fake", verified=False,
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]


def product(rows: int, columns: int, inner: int, **changes: Any) -> Contraction:
    made = Contraction("mm", 1, rows, columns, inner, rows * columns * inner, 16)
    return replace(made, **changes)


def term(work: Demand, name: str, hardware: Hardware | None = None) -> Term:
    found = {t.resource: t for t in price(work, hardware or device(), 1000).terms}
    return found[name]


def test_vector_work_runs_on_half_as_many_lanes_as_there_are_flops() -> None:
    # 50 lanes · 10 SMs · 1e9 = 5e11 a second
    found = term(demand(vector_ops=5 * 10**9), "vector")
    assert found.time_ms == pytest.approx(10.0)
    assert "50 lanes" in found.detail


def test_special_functions_have_their_own_units() -> None:
    # 10 · 10 SMs · 1e9 = 1e11 a second
    found = term(demand(special_ops=10**9), "special")
    assert found.time_ms == pytest.approx(10.0)


def test_a_device_whose_rate_is_not_known_has_no_such_term() -> None:
    bare = device(special_ops_per_sm_per_clk=0.0, shared_bytes_per_sm_per_clk=0.0)
    priced = price(demand(special_ops=10**9, contractions=(product(8, 8, 8),)), bare, 1000)
    assert {t.resource for t in priced.terms}.isdisjoint({"special", "shared"})


@pytest.mark.parametrize(
    ("reads", "writes", "share"),
    [
        (4_000_000, 0, 0.966),
        (2_000_000, 2_000_000, 0.892),
        (4_000_000, 2_000_000, 0.935),
        (0, 4_000_000, 0.98),
        (1_000_000, 3_000_000, 0.936),  # half way between none and half: (0.98 + 0.892) / 2
    ],
)
def test_bandwidth_goes_by_the_share_of_reads(reads: int, writes: int, share: float) -> None:
    found = term(demand(dram_read_bytes=reads, dram_write_bytes=writes), "dram.achieved")
    assert found.rate_per_s == pytest.approx(share * 1e12)
    assert found.time_ms == pytest.approx((reads + writes) / (share * 1e12) * 1e3)


def test_nothing_moved_takes_no_time() -> None:
    assert term(demand(dram_read_bytes=0), "dram.achieved").time_ms == 0


def test_intermediates_beyond_the_cache_are_written_and_read() -> None:
    found = term(demand(intermediate_bytes=3_000_000), "dram.intermediates")
    assert found.amount == 2_000_000
    priced = price(demand(intermediate_bytes=900_000), device(), 1000)
    assert "dram.intermediates" not in {t.resource for t in priced.terms}


def test_terms_of_dram_add() -> None:
    work = demand(dram_read_bytes=4_830_000, intermediate_bytes=1_000_000 + 4_460_000)
    # 4.83 MB of reads at 0.966 TB/s, 4.46 MB written and read back at 0.892 TB/s, and a launch of 2 us
    assert price(work, device(), 1000).t_attainable_ms == pytest.approx(5e-3 + 5e-3 + 2e-3)


def test_a_product_too_large_for_the_chip_is_read_again() -> None:
    # 1 MB + 10 kB on chip: 505,000 elements of bf16. 2048³: each operand has 4.19 M elements.
    # A 512×512 tile of sums with a column and a row of 512: 263,168 elements fit (1024×512 does not: 525,824);
    # A and B are read 4 times each instead of once: 2 · 3 · 2048² elements of 2 bytes more.
    found = term(demand(contractions=(product(2048, 2048, 2048),)), "dram.reuse")
    assert found.amount == 2 * 3 * 2048**2 * 2


def test_masked_work_is_read_again_less_often() -> None:
    half = product(2048, 2048, 2048, macs=2048**3 // 2)
    assert term(demand(contractions=(half,)), "dram.reuse").amount == 3 * 2048**2 * 2


def test_l2_moves_what_dram_does_and_what_the_sms_read_again() -> None:
    # 10 kB of shared memory and registers: 5,000 elements. 128³ of bf16; tiles of 64×64 sums with a column
    # and a row: 4,224 elements. A and B twice each: 2 · 128² elements of 2 bytes beyond once each.
    found = term(demand(contractions=(product(128, 128, 128),)), "l2")
    assert found.amount == 1000 + 2 * 128**2 * 2
    assert found.time_ms == pytest.approx(found.amount / 5e12 * 1e3)


def test_shared_memory_feeds_the_registers_of_one_sm() -> None:
    # 500 B of registers: 125 sums of fp32. 64³: 8×8 sums, a column and a row: 80 (16×8 would take 152).
    # A and B 8 times each, C once: (2 · 8 + 1) · 4096 elements of 2 bytes, at 20 · 10 · 1e9 B/s.
    found = term(demand(contractions=(product(64, 64, 64),)), "shared")
    assert found.amount == 17 * 4096 * 2
    assert found.rate_per_s == pytest.approx(2e11)


def test_a_fused_pair_does_not_move_its_intermediate() -> None:
    # (8×4 · 4×16) · 16×4 in bf16, all on chip: 32 + 64 + 64 + 32 elements
    first, second = product(8, 16, 4), product(8, 4, 16)
    pair = demand(
        contractions=(first, second), chains=(Chain(0, 1, 1, 8, 4, 16, 4, softmax=False),)
    )
    (piece,) = pieces(pair)
    assert piece.least_bytes == 2 * (32 + 64 + 64 + 32)
    alone = pieces(demand(contractions=(first, second)))
    assert sum(p.least_bytes for p in alone) == 2 * (32 + 64 + 128 + 128 + 64 + 32)


def test_dependent_kernels_begin_one_after_the_other() -> None:
    work = demand(launches=4)
    assert term(work, "launch").time_ms == pytest.approx(2e-3)
    assert term(work, "dependency").time_ms == pytest.approx(6e-3)
    assert price(work, device(), 1000).t_attainable_ms >= 8e-3


def calibration(**changes: object) -> Calibration:
    plain = Calibration(
        device="cuda", title="Made up", threads=0, torch="2", date="2026-01-02T00:00:00+00:00",
        clock_mhz=1000.0, copy_bytes_per_s=5e11, read_bytes_per_s=4e11, write_bytes_per_s=4e11,
        update_bytes_per_s=4e11, matmul_flops_per_s={"bf16": 1e12}, l2_bytes=1, l2_bytes_per_s=2e12,
        core_cache_bytes=0, launch_floor_us=1.0, seconds=1.0,
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_where_a_card_was_measured_its_rates_are_used() -> None:
    measured = device(measured=calibration())
    work = demand(matrix_flops={"bf16": 10**9})
    assert term(work, "products.achieved", measured).time_ms == pytest.approx(1.0)
    assert term(work, "dram.achieved", measured).rate_per_s == pytest.approx(5e11)
    assert term(work, "l2", measured).rate_per_s == pytest.approx(2e12)
    assert "2026-01-02" in term(work, "dram.achieved", measured).detail
    assert price(work, measured, 1000).t_sol_ms == price(work, device(), 1000).t_sol_ms


def test_a_product_too_large_for_the_chip_raises_the_bound_itself() -> None:
    """A tiny chip: 16³ of bf16 with 2 B of L2 and 1 B each of shared memory and registers on 1 SM: two
    elements.

    With phases of T = 4 of X = 6 elements: (6/3)^1.5 = 2.83 multiply-adds each, the first (4/3)^1.5 = 1.54:
    4 · ceil((4096 − 1.54) / 2.83) = 5792 transfers. Other T give no more than 2·4096/√2 − 4 = 5789 and a
    little.
    """
    chip = device(sm_count=1, l2_bytes=2, shared_bytes_per_sm=1, register_bytes_per_sm=1)
    work = demand(contractions=(product(16, 16, 16, isolated=True),), dram_read_bytes=1536)
    floor = traffic_floor(work, 4)
    assert floor is not None
    assert floor.capacity_elements == 2
    assert 5789 * 2 <= floor.bytes <= 5800 * 2
    found = term(work, "dram", chip)
    assert found.enters == "t_sol"
    assert found.amount == floor.bytes
    assert "cannot move less" in found.detail


@pytest.mark.parametrize("changes", [{"isolated": False}, {"windows": ((4, 3, 1, 1),)}])
def test_only_isolated_products_have_a_floor(changes: dict[str, Any]) -> None:
    work = demand(contractions=(product(16, 16, 16, **{"isolated": True, **changes}),))
    assert traffic_floor(work, 4) is None


def test_on_real_devices_the_floor_of_a_dense_product_does_not_bind() -> None:
    work = demand(
        contractions=(product(8192, 8192, 8192, isolated=True),),
        dram_read_bytes=2 * 8192**2 * 2, dram_write_bytes=8192**2 * 2,
    )  # fmt: skip
    found = term(work, "dram", load_hardware("h200"))
    assert found.amount == 3 * 8192**2 * 2
    assert found.detail == ""


flops = st.dictionaries(st.sampled_from(["bf16", "fp8", "fp32"]), st.integers(1, 10**14))


@settings(max_examples=60, deadline=None)
@given(
    flops, st.integers(0, 10**10), st.integers(0, 10**10), st.integers(0, 10**12), st.integers(1, 50),
    st.sampled_from(["h200", "b200", "mi300x", "rtx_4090"]), st.booleans(),
)  # fmt: skip
def test_attainable_is_never_below_the_bound(
    matrix: dict[str, int], read: int, write: int, vector: int, launches: int, name: str, measured: bool
) -> None:  # fmt: skip
    chip = load_hardware(name)
    if measured:
        chip = replace(chip, measured=calibration(copy_bytes_per_s=1e15, launch_floor_us=0.1))
    work = demand(
        matrix_flops=matrix, dram_read_bytes=read, dram_write_bytes=write, vector_ops=vector,
        launches=launches, contractions=(product(512, 512, 512, isolated=True),),
    )  # fmt: skip
    priced = price(work, chip, chip.clock_mhz())
    assert priced.t_attainable_ms >= priced.t_sol_ms >= priced.t_floor_ms


# ---- what the analysis finds in programs ----


def meta(*shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.bfloat16, device="meta")


def analysed(function: Any, *inputs: torch.Tensor) -> Demand:
    graph, rung = capture(function_program(function, inputs))
    return analyse(graph, rung)


def test_a_product_of_inputs_into_an_output_is_isolated() -> None:
    (found,) = analysed(lambda a, b: a @ b.t(), meta(64, 32), meta(16, 32)).contractions
    assert (found.rows, found.columns, found.inner, found.batch) == (64, 16, 32, 1)
    assert found.isolated
    assert found.bits == 16


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: torch.relu(a @ b),  # the result is not what is written
        lambda a, b: (a * 2) @ b,  # an operand is made on the way
        lambda a, b: a @ a.t(),  # one operand twice
        lambda a, b: a[:1].expand(32, 32) @ b,  # repeated rows
    ],
)
def test_other_products_are_not(function: Any) -> None:
    found = analysed(function, meta(32, 32), meta(32, 32))
    assert not any(each.isolated for each in found.contractions)


def test_attention_written_out_is_a_chain_with_a_softmax() -> None:
    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ k.transpose(-1, -2) * 0.1, -1) @ v

    found = analysed(attention, meta(4, 64, 32), meta(4, 128, 32), meta(4, 128, 16))
    assert found.chains == (Chain(0, 1, 4, 64, 32, 128, 16, softmax=True),)
    assert found.special_ops == 4 * 64 * 128  # one exponential a score
    assert found.launches == 1


def two_layers(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.relu(torch.tanh(x @ a) @ b)


def test_two_wide_layers_are_a_chain_and_two_kernels() -> None:
    found = analysed(two_layers, meta(2048, 1024), meta(1024, 512), meta(512, 256))
    assert found.chains == (Chain(0, 1, 1, 2048, 1024, 512, 256, softmax=False),)
    assert found.special_ops == 2048 * 512
    assert found.launches == 2
    # 2048·512 of bf16, written and read; the second result goes into the output
    assert found.intermediate_bytes == 2 * 2048 * 512 * 2


def test_two_narrow_layers_are_one_kernel_tile_by_tile() -> None:
    # summed size of the first and columns of the second: 768 + 256 = 1024 still fit, 768 + 257 do not
    narrow = analysed(two_layers, meta(2048, 768), meta(768, 512), meta(512, 256))
    assert (narrow.launches, narrow.intermediate_bytes) == (1, 0)
    wide = analysed(two_layers, meta(2048, 768), meta(768, 512), meta(512, 257))
    assert (wide.launches, wide.intermediate_bytes) == (2, 2 * 2048 * 512 * 2)


def test_a_third_narrow_layer_begins_a_kernel() -> None:
    def layers(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = torch.tanh(x @ w)
        return x

    assert analysed(layers, meta(4096, 300), meta(300, 300)).launches == 2


def test_what_one_sm_holds_it_multiplies_without_waiting() -> None:
    def powers(x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = torch.tanh(x @ x)
        return x

    # 256² = 65,536 elements of each of 3 matrices fill one SM; 257² do not: four kernels
    small = analysed(powers, meta(3, 256, 256))
    assert (small.launches, small.intermediate_bytes) == (1, 0)
    large = analysed(powers, meta(3, 257, 257))
    assert large.launches == 2  # two at a time: 257 summed and 257 columns


def test_attention_by_hand_keeps_its_scores_without_a_softmax_in_sight() -> None:
    def attention(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lse: torch.Tensor
    ) -> torch.Tensor:
        return torch.exp(q @ k.transpose(-1, -2) - lse) @ v

    heads = meta(4, 512, 64)
    found = analysed(attention, heads, heads, heads, meta(4, 512, 1))
    assert (found.launches, found.intermediate_bytes) == (1, 0)


def test_a_convolution_waits_for_the_one_before_it() -> None:
    def two(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.conv2d(torch.relu(torch.nn.functional.conv2d(x, a)), b)

    # 3×3 taps read their neighbours, which other SMs make; 1×1 taps do not: 9·16 + 16 wide
    image = meta(2, 16, 64, 64)
    assert analysed(two, image, meta(16, 16, 3, 3), meta(16, 16, 3, 3)).launches == 2
    assert analysed(two, image, meta(16, 16, 3, 3), meta(16, 16, 1, 1)).launches == 1


def test_only_what_another_contraction_reads_is_an_intermediate() -> None:
    single = analysed(lambda x, a: torch.relu(x @ a).reshape(-1), meta(64, 32), meta(32, 16))
    assert single.intermediate_bytes == 0

    def normalised(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (x @ a).sum(-1, keepdim=True).tanh() * b.sum(0) @ b

    # only sums of the first product are read on
    found = analysed(normalised, meta(2048, 1024), meta(1024, 1024), meta(2048, 2048))
    assert found.intermediate_bytes == 0


def test_a_softmax_works_where_its_mask_leaves_something() -> None:
    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    heads = meta(2, 3, 64, 32)
    found = analysed(attention, heads, heads, heads)
    assert found.special_ops == 6 * 64 * 65 // 2  # one exponential a score on or below the diagonal


def test_what_follows_a_sum_over_more_than_one_sm_holds_waits_for_it() -> None:
    def normalised(x: torch.Tensor) -> torch.Tensor:
        return x / x.sum()

    assert analysed(normalised, meta(1024, 1024)).launches == 2
    assert analysed(normalised, meta(128, 128)).launches == 1
    assert analysed(lambda x: x.sum(), meta(1024, 1024)).launches == 1


def test_a_convolution_keeps_its_windows() -> None:
    found = analysed(
        lambda x, w: torch.nn.functional.conv2d(x, w, stride=2, padding=1),
        meta(2, 8, 16, 16), meta(4, 8, 3, 3),
    )  # fmt: skip
    (made,) = found.contractions
    assert made.windows == ((8, 3, 2, 1), (8, 3, 2, 1))
    assert (made.rows, made.columns, made.inner) == (2 * 64, 4, 8 * 9)


def test_each_operation_lists_the_bytes_of_the_inputs_that_it_reads() -> None:
    found = analysed(lambda x: x[:4].exp(), meta(8, 16))
    (row,) = found.nodes
    assert (row.bytes_read, row.bytes_dropped, row.bytes_written) == (128, 128, 128)
    assert row.dropped_reason
    assert row.special_ops == 64


def test_groups_of_a_convolution_are_no_window() -> None:
    found = analysed(
        lambda x, w: torch.nn.functional.conv2d(x, w, groups=8),
        meta(2, 8, 18, 18), meta(8, 1, 3, 3),
    )  # fmt: skip
    (made,) = found.contractions
    assert (made.batch, made.rows, made.columns, made.inner) == (8, 2 * 16 * 16, 1, 9)
    assert made.windows == ((16, 3, 1, 1), (16, 3, 1, 1))
    (piece,) = pieces(found)
    # each group reads its 2 images of 18×18 and 9 weights, and writes 2 of 16×16: bf16
    assert piece.least_bytes == 8 * (2 * 324 + 9 + 2 * 256) * 2
