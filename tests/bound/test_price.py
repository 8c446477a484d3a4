"""Times from a demand: hand-worked on a made-up device with round numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from solbench.bound import Demand, price
from solbench.errors import UnsupportedPrecision
from solbench.hardware import Hardware, load_hardware


def device(**changes: object) -> Hardware:
    """10 SMs at 1000 MHz: 1e10 SM clocks a second; 1 TB/s; 1 MB of L2."""
    settings: dict[str, object] = {
        "name": "made_up", "title": "Made up", "sm_count": 10,
        "matrix_flops_per_sm_per_clk": {"bf16": 1000.0, "tf32": 300.0, "fp8": 2000.0},
        "simt_flops_per_sm_per_clk": {"fp32": 100.0},
        "clocks_mhz": {"max": 1000.0}, "default_clock": "max", "dram_bytes_per_s": 1e12,
        "l2_bytes": 1_000_000, "l2_bytes_per_s": 5e12, "shared_bytes_per_sm": 1,
        "register_bytes_per_sm": 1, "launch_floor_us": 2.0, "sources": {},
    }  # fmt: skip
    return Hardware(**{**settings, **changes})  # type: ignore[arg-type]


def demand(
    flops: dict[str, int] | None = None, read: int = 0, write: int = 0, vector: int = 0
) -> Demand:
    return Demand(
        matrix_flops=flops or {}, vector_ops=vector, dram_read_bytes=read, dram_write_bytes=write,
        intermediate_bytes=0, launches=1, nodes=(), traffic=(), removed=(), unknown_ops=(),
        assumptions=(), precision="declared", capture="fake", verified=False,
    )  # fmt: skip


def test_memory_binds_with_reads_and_writes_added() -> None:
    priced = price(demand(read=3_000_000, write=1_000_000), device(), 1000)
    assert priced.binding == "dram"
    assert priced.t_sol_ms == pytest.approx(4e-3)  # 4 MB at 1 TB/s


def test_the_floor_lets_the_cache_absorb_writes_up_to_its_size() -> None:
    priced = price(demand(read=3_000_000, write=1_500_000), device(), 1000)
    assert priced.t_floor_ms == pytest.approx(3.5e-3)  # half a megabyte does not fit


def test_both_kinds_of_cores_share_one_class() -> None:
    # bf16: 1000 + 100 FLOP per SM and clock = 1.1e13 FLOP/s
    priced = price(demand({"bf16": 11_000_000_000}), device(), 1000)
    assert priced.binding == "matrix"
    assert priced.t_sol_ms == pytest.approx(1.0)


def test_classes_on_one_unit_add() -> None:
    only_tensor = device(simt_flops_per_sm_per_clk={})
    priced = price(demand({"bf16": 10_000_000_000, "fp8": 20_000_000_000}), only_tensor, 1000)
    assert priced.t_sol_ms == pytest.approx(2.0)  # 1 ms each


def test_the_split_gives_ordinary_cores_the_class_they_do_best() -> None:
    # Of the two, fp32 loses least on ordinary cores: 100 against 167 a clock and SM; bf16 100 against 1000.
    # 1e9 fp32 FLOPs take 1 ms on the ordinary cores, 1e10 bf16 FLOPs 1 ms on the tensor cores, side by side.
    priced = price(demand({"fp32": 1_000_000_000, "bf16": 10_000_000_000}), device(), 1000)
    assert priced.t_sol_ms == pytest.approx(1.0)


def test_the_split_may_divide_a_class() -> None:
    # fp32 alone: 1000/6 on tensor cores and 100 on ordinary ones, together 2.667e12 FLOP/s
    priced = price(demand({"fp32": 2_000_000_000}), device(), 1000)
    assert priced.t_sol_ms == pytest.approx(0.75)


def test_fp32_takes_the_faster_emulation() -> None:
    # bf16 in six passes: 1000/6 = 166.7 a clock and SM beats tf32 in three (100)
    chip = device(simt_flops_per_sm_per_clk={})
    priced = price(demand({"fp32": 10_000_000_000}), chip, 1000)
    assert priced.t_sol_ms == pytest.approx(6.0)
    assert any("passes" in text for text in priced.assumptions)


def test_a_class_without_a_unit_goes_to_the_narrowest_that_holds_it() -> None:
    chip = device(matrix_flops_per_sm_per_clk={"bf16": 1000.0}, simt_flops_per_sm_per_clk={})
    priced = price(demand({"fp8": 10_000_000_000}), chip, 1000)
    assert priced.t_sol_ms == pytest.approx(1.0)
    assert any("fp8 products" in text for text in priced.assumptions)


def test_a_faster_unit_of_a_wider_class_is_used() -> None:
    slow = device(
        matrix_flops_per_sm_per_clk={"int8": 100.0, "bf16": 1000.0}, simt_flops_per_sm_per_clk={}
    )
    priced = price(demand({"int8": 10_000_000_000}), slow, 1000)
    assert priced.t_sol_ms == pytest.approx(1.0)


def test_an_fp32_product_with_one_narrow_operand_needs_fewer_passes() -> None:
    chip = device(simt_flops_per_sm_per_clk={})
    work = replace(demand({"fp32": 10_000_000_000}), mixed_flops={"bf16": 10_000_000_000})
    # only the fp32 operand is split: three passes of bf16, 1000/3 a clock and SM
    assert price(work, chip, 1000).t_sol_ms == pytest.approx(3.0)


def test_double_precision_may_be_emulated() -> None:
    # 28 passes of bf16: 1000/28 a clock and SM
    priced = price(demand({"fp64": 10_000_000_000}), device(), 1000)
    assert priced.t_sol_ms == pytest.approx(28.0)


def test_a_class_that_nothing_holds_is_an_error() -> None:
    bare = device(matrix_flops_per_sm_per_clk={"fp8": 100.0})
    with pytest.raises(UnsupportedPrecision, match="fp64"):
        price(demand({"fp64": 100}), bare, 1000)


def test_times_scale_with_the_clock_but_bandwidth_does_not() -> None:
    work = demand({"bf16": 11_000_000_000}, read=1_000_000)
    slow, fast = price(work, device(), 500), price(work, device(), 1000)
    assert slow.t_sol_ms == pytest.approx(2 * fast.t_sol_ms)
    memory = demand(read=1_000_000)
    assert price(memory, device(), 500).t_sol_ms == price(memory, device(), 1000).t_sol_ms


def test_attainable_is_never_below_the_bound_and_counts_a_launch() -> None:
    priced = price(demand(read=1000), device(), 1000)
    assert priced.t_attainable_ms >= priced.t_sol_ms
    assert priced.t_attainable_ms >= 2e-3


def test_a_calibrated_device_is_called_an_estimate() -> None:
    priced = price(demand(read=1000), device(calibrated=True), 1000)
    assert any("calibrated" in text for text in priced.assumptions)


def test_terms_are_what_the_figures_are_made_of() -> None:
    priced = price(demand({"bf16": 10**10, "fp8": 10**9}, read=10**6), device(), 1000)
    entering = [t for t in priced.terms if t.enters == "t_sol"]
    dram = [t.time_ms for t in entering if t.resource == "dram"]
    matrix = [t.time_ms for t in entering if t.resource.startswith("matrix.")]
    assert priced.t_sol_ms == pytest.approx(max(sum(dram), sum(matrix)))
    for term in priced.terms:
        assert term.time_ms == pytest.approx(term.amount / term.rate_per_s * 1e3)


def test_b200_at_its_locked_clock_does_a_bf16_product_at_the_datasheet_rate() -> None:
    # 148 SMs x 8192 FLOP/clk x 1.5 GHz = 1.8186e15 FLOP/s on tensor cores, ordinary cores beside them
    chip = load_hardware("b200")
    flops = 2 * 8192**3
    priced = price(demand({"bf16": flops}), chip, 1500)
    ordinary = chip.simt_flops_per_sm_per_clk["fp32"]
    rate = 148 * (8192 + ordinary) * 1.5e9
    assert priced.t_sol_ms == pytest.approx(flops / rate * 1e3)


def test_no_measured_h200_figure_beats_its_bound() -> None:
    # measured 8192-cubed products: bf16 798, fp8 1362, tf32 393, fp32 51 TFLOP/s; copy 4.28 TB/s
    chip = load_hardware("h200")
    clock = chip.clock_mhz()
    flops = 2 * 8192**3
    for name, measured in (("bf16", 798e12), ("fp8", 1362e12), ("tf32", 393e12), ("fp32", 51e12)):
        assert price(demand({name: flops}), chip, clock).t_sol_ms < flops / measured * 1e3
    moved = 2 << 30
    assert price(demand(read=moved, write=moved), chip, clock).t_sol_ms < 2 * moved / 4.28e12 * 1e3
