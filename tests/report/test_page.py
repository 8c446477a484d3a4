"""The results page: one file, no network, nothing of a submission interpreted."""

import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from solbench.errors import InputError
from solbench.report import html_page
from solbench.report._format import amount
from solbench.report._page import _Scale
from solbench.report._roofline import points, roofline_svg, roofs
from solbench.spec import Trace

MakeTrace = Callable[..., Trace]
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Balance(HTMLParser):
    """Collects tags, and checks that each is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_one_well_formed_file_that_loads_nothing(sample_run: list[Trace]) -> None:
    page = html_page(sample_run)
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert all(address.startswith("#") for address in parser.addresses)
    assert "@import" not in page
    assert "<script" not in page
    assert re.findall(r"url\((?!#)", page) == []


def test_every_workload_of_every_solution_is_on_the_page(sample_run: list[Trace]) -> None:
    page = html_page(sample_run)
    for trace in sample_run:
        assert trace.workload.uuid in page
    assert page.count("runtime error") == 1
    assert "expected 0.125, got 0.5" in page


def test_text_of_a_submission_is_escaped(make_trace: MakeTrace) -> None:
    evil = "<script>alert(1)</script>"
    page = html_page([make_trace(solution=evil, status="RUNTIME_ERROR", log=evil)])
    assert evil not in page
    assert "&lt;script&gt;" in page


def test_the_page_follows_a_dark_theme(sample_run: list[Trace]) -> None:
    page = html_page(sample_run)
    assert "prefers-color-scheme: dark" in page
    assert "#0102" not in page, "a placeholder colour was left in the plot"


def test_a_trace_without_our_key_is_shown_as_well(make_trace: MakeTrace) -> None:
    page = html_page([make_trace().model_copy(update={"solbench": None})])
    assert "11111111-aaaa" in page


def test_no_traces_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(InputError, match="--out"):
        html_page([])


def test_time_marks_share_one_log_axis(make_trace: MakeTrace) -> None:
    # T_SOL 0.1, T_attainable 0.15, own 0.5, reference 10 ms: the axis runs from 0.1 to 10.
    scale = _Scale.of([make_trace(reference_ms=10.0)])
    assert scale.percent(0.1) == pytest.approx(4.0)
    assert scale.percent(1.0) == pytest.approx(50.0)
    assert scale.percent(10.0) == pytest.approx(96.0)


def test_a_roofline_point_is_work_over_time_against_work_over_traffic(
    make_trace: MakeTrace,
) -> None:
    # 2e9 FLOP, 4 MiB moved, 0.5 ms measured, 0.1 ms at the bound.
    (point,) = points([make_trace()])
    assert point.flops_per_byte == pytest.approx(2e9 / (4 << 20))
    assert point.flops_per_s == pytest.approx(4e12)
    assert point.bound_flops_per_s == pytest.approx(2e13)
    assert roofs([make_trace()]).matrix_flops_per_s == pytest.approx(2e13)
    assert roofs([make_trace()]).dram_bytes_per_s is None


def test_no_roofline_where_nothing_does_matrix_work(make_trace: MakeTrace) -> None:
    trace = make_trace()
    record = trace.solbench.model_copy(update={"bound": {"matrix_flops": {}}})
    assert roofline_svg([trace.model_copy(update={"solbench": record})]) == ""


def test_the_plot_is_the_same_every_time(sample_run: list[Trace]) -> None:
    assert roofline_svg(sample_run) == roofline_svg(sample_run)


def test_a_point_of_the_roofline_says_which_workload_it_is(sample_run: list[Trace]) -> None:
    trace = sample_run[0].model_copy(update={"definition": "a<b"})
    flops_per_s = points([trace])[0].flops_per_s
    tip = f"a&lt;b · fast · batch=4 hidden=4096: {amount(flops_per_s, 'FLOP/s')} of "
    svg = roofline_svg([trace])
    assert svg.count("<title>") == 1
    assert f'<g id="point-0"><title>{tip}' in svg
