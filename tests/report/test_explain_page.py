"""The pages and plots of ``explain``: complete, self-contained, and about this bound."""

from __future__ import annotations

import dataclasses
import re

import pytest
import torch
from rich.console import Console, RenderableType

from solbench.bound import (
    Bound,
    Difference,
    cache_report,
    confidence,
    derive_bound,
    function_program,
    plain_count,
)
from solbench.errors import InputError
from solbench.hardware import load_hardware
from solbench.report import (
    bound_plot,
    cache_plot,
    cache_tables,
    compare_table,
    explain_page,
    explain_report,
)


def meta(*shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.bfloat16, device="meta")


@pytest.fixture(scope="module")
def layer() -> Bound:
    """Two layers of which only the first 32 rows are used; the tanh makes a chain of them."""

    def run(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return (torch.tanh(x @ first) @ second)[:32]

    program = function_program(run, (meta(64, 128), meta(128, 256), meta(256, 64)), name="layer")
    (bound,) = derive_bound(program, "h200")
    return bound


def shown(renderable: RenderableType) -> str:
    console = Console(width=80, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    text = capture.get()
    assert max(map(len, text.splitlines())) <= 80
    return text


def test_the_page_holds_everything_and_needs_no_network(layer: Bound) -> None:
    assert layer.demand is not None
    page = explain_page(layer, cache_report(layer.demand, load_hardware("h200")))
    for part in (
        "T_SOL", "T_attainable", "confidence", "Terms and roofline", "Traffic against capacity", "Operations",
        "Assumptions", "What was left out", "ik,kj-&gt;ij", "only what outputs depend on is read",
        "classical arithmetic", "fake rung", "not verified", "x @ first",
    ):  # fmt: skip
        assert part in page, part
    for term in layer.terms:
        assert term.resource in page
    assert not re.search(r'(?:src|href)="https?:|url\((?!#)|@import|<script', page)
    assert page.count("<svg") == 2


def test_an_incomplete_bound_has_a_page_that_says_so(layer: Bound) -> None:
    broken = dataclasses.replace(
        layer, t_sol_ms=None, complete=False, terms=(), error="line 3: <needs> values"
    )
    page = explain_page(broken)
    assert "No bound: line 3: &lt;needs&gt; values" in page
    assert "roofline" not in page


@pytest.mark.parametrize(("suffix", "magic"), [(".svg", b"<?xml"), (".png", b"\x89PNG")])
def test_plots_are_files_of_the_kind_that_their_name_says(
    layer: Bound, suffix: str, magic: bytes
) -> None:
    assert layer.demand is not None
    curves = cache_report(layer.demand, load_hardware("h200"))
    assert bound_plot(layer, suffix).startswith(magic)
    assert cache_plot(curves, "a title", suffix).startswith(magic)
    with pytest.raises(InputError, match=r"\.svg or \.png"):
        bound_plot(layer, ".pdf")


def test_the_cache_tables_have_levels_pairs_and_a_curve(layer: Bound) -> None:
    assert layer.demand is not None
    curves = cache_report(layer.demand, load_hardware("h200"))
    # 32 rows are needed, but the tiles are of the whole pair: x, both weights, the result
    least = 2 * (64 * 128 + 128 * 256 + 256 * 64 + 64 * 64)
    assert curves.least_bytes == least
    assert [level.name for level in curves.levels] == ["dram", "l2"]
    # 132 SMs of 256 KiB shared memory and 256 KiB registers; before them 60 MiB of L2
    assert curves.levels[1].capacity_bytes == 132 * (512 << 10)
    assert curves.levels[0].capacity_bytes == 132 * (512 << 10) + (60 << 20)
    text = shown(cache_tables(curves))
    for part in ("dram", "l2", "66.0 MiB", "capacity binds nowhere", "aten.mm"):
        assert part in text
    svg = cache_plot(curves, "a title", ".svg").decode()
    assert "66.0 MiB" in svg
    assert "a title" in svg


def test_a_program_without_contractions_has_no_curve() -> None:
    program = function_program(lambda x: x + 1, (meta(8),))
    (bound,) = derive_bound(program, "h200")
    assert bound.demand is not None
    with pytest.raises(InputError, match="no contraction"):
        cache_report(bound.demand, load_hardware("h200"))


def test_the_terminal_shows_how_each_estimate_came_about(layer: Bound) -> None:
    text = " ".join(shown(explain_report(layer, why_not=True)).split())
    for part in ("special-function lanes", "no kernel is shorter", "largest: launch", "confidence"):
        assert part in text, part
    # of x (16 KiB) the second half is not needed
    assert "−8.00 KiB" in text


def test_confidence_falls_with_what_is_not_known(layer: Bound) -> None:
    verified = dataclasses.replace(layer, verified=True)
    assert confidence(verified).level == "high"
    assert confidence(verified).reasons == ()
    assert confidence(layer).level == "medium"
    assert confidence(dataclasses.replace(verified, hardware="cpu")).level == "low"
    unknown = dataclasses.replace(verified, complete=False, unknown_ops=("aten.foo.default",))
    assert confidence(unknown).level == "none"
    assert "aten.foo.default" in confidence(unknown).reasons[0]


def test_the_plain_count_has_a_time_on_the_same_device(layer: Bound) -> None:
    assert layer.demand is not None
    plain = plain_count(layer.demand)
    # all of x, both weights and 32 of 64 rows of the result: DRAM binds at 4.8 TB/s
    moved = 2 * (64 * 128 + 128 * 256 + 256 * 64 + 32 * 64)
    assert plain.dram_bytes == moved
    assert plain.time_ms(layer) == pytest.approx(moved / 4.8e12 * 1e3)


def test_differences_are_a_table_with_ratios() -> None:
    rows = (
        Difference("T_SOL", "ms", 0.001, 0.004),
        Difference("binds", "", "dram", "matrix"),
        Difference("term l2", "ms", None, 0.5),
    )
    text = shown(compare_table(rows, "first/path", "b200"))
    for part in ("first/path", "b200", "1.00 µs", "4.00 µs", "4.00×", "matrix", "—"):
        assert part in text
    assert "equal" in shown(compare_table((), "a", "b"))


def test_a_clock_in_a_comparison_is_in_megahertz() -> None:
    table = compare_table((Difference("clock", "MHz", 1980.0, 1965.0),), "h200", "b200")
    assert "1980 MHz" in shown(table)
