"""Axes are labelled with units, and with enough numbers to read them."""

from __future__ import annotations

from solbench.report._figure import figure, log_bytes, log_units


def labels(low: float, high: float, unit: str) -> list[str]:
    with figure(4.0, 3.0) as drawn:
        axes = drawn.subplots()
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        log_units(axes.yaxis, low, high, unit)
        drawn.draw_without_rendering()
        return [each.get_text() for each in axes.yaxis.get_ticklabels()]


def test_a_short_axis_has_labels_between_the_powers_of_ten() -> None:
    assert {"500 TFLOP/s", "1 PFLOP/s", "2 PFLOP/s"} <= set(labels(4e14, 3e15, "FLOP/s"))


def test_a_long_axis_has_powers_of_ten_only() -> None:
    shown = labels(1e9, 1e14, "FLOP/s")
    assert "1 TFLOP/s" in shown
    assert not any(text.startswith(("2", "5")) for text in shown)


def test_numbers_without_a_unit_have_no_prefix() -> None:
    assert {"0.5", "1", "2"} <= set(labels(0.3, 30, ""))


def test_bytes_are_labelled_in_binary_units() -> None:
    with figure(4.0, 3.0) as drawn:
        axes = drawn.subplots()
        axes.set_xscale("log", base=2)
        axes.set_xlim(2**9, 2**21)
        log_bytes(axes.xaxis)
        drawn.draw_without_rendering()
        shown = {each.get_text() for each in axes.xaxis.get_ticklabels()}
    assert {"512 B", "2 KiB", "512 KiB"} <= shown
