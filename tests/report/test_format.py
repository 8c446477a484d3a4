"""Numbers are shown with three significant digits and a unit that fits."""

import pytest

from solbench.report import _format as fmt


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (0.01234, "0.0123"),
        (1.2345, "1.23"),
        (9.999, "10.0"),
        (99.96, "100"),
        (1234.0, "1230"),
        (-2.5, "-2.50"),
    ],
)
def test_three_significant_digits(value: float, shown: str) -> None:
    assert fmt.significant(value) == shown


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (None, "—"),
        (2500.0, "2.50 s"),
        (1.0, "1.00 ms"),
        (0.9999, "1.00 ms"),
        (0.0123, "12.3 µs"),
        (0.0000005, "0.500 ns"),
        (0.0, "0 ns"),
    ],
)
def test_a_duration_takes_the_largest_unit_in_which_it_is_at_least_one(
    milliseconds: float | None, shown: str
) -> None:
    assert fmt.duration(milliseconds) == shown


def test_bytes_are_binary_and_other_amounts_decimal() -> None:
    assert fmt.size(1536) == "1.50 KiB"
    assert fmt.size(3 << 30) == "3.00 GiB"
    assert fmt.amount(2_000_000_000, "FLOP") == "2.00 GFLOP"
    assert fmt.amount(1536, "B") == "1.50 KiB"
    assert fmt.amount(12, "FLOP") == "12 FLOP"
    assert fmt.amount(0.5, "FLOP") == "0.500 FLOP"


def test_an_interval_is_shown_as_half_its_width_in_percent() -> None:
    assert fmt.half_width(0.99, 1.01, 1.0) == "±1.0%"
    assert fmt.half_width(0.5, 1.5, 1.0) == "±50%"
    assert fmt.half_width(0.0, 0.0, 0.0) == ""


def test_a_uuid_is_shortened_to_its_first_block() -> None:
    assert fmt.short_uuid("11111111-aaaa-4aaa-8aaa-000000000001") == "11111111"
    assert fmt.short_uuid("small") == "small"
    assert fmt.short_uuid("a_long_name_of_one") == "a_long_name_"
