"""Measured numbers as text."""

import math

import pytest

from circlet import formatting


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.123"), (1.2345, "1.23"), (99.96, "100"), (102.24, "102.2"), (-0.5, "−0.5"),
        (31364, "31360"), (2e8, "2e+08"), (1e-7, "1e−07"), (math.nan, "–"), (None, "–"),
    ],
)  # fmt: skip
def test_numbers_have_three_digits_and_four_from_100_on(value, text):
    assert formatting.number(value) == text


def test_a_change_has_its_sign():
    texts = [formatting.change(value) for value in (1.2345, -1.2345, 0, math.nan)]
    assert texts == ["+1.23", "−1.23", "0", "–"]


def test_an_interval_is_in_brackets_and_a_range_in_words():
    assert formatting.interval(-1.2345, math.nan) == "[−1.23, –]"
    assert formatting.span(72.4, 82.4) == "72.4 to 82.4"
    assert formatting.span(-0.5, math.nan) == "≥ −0.5"
    assert formatting.span(math.nan, 3) == "≤ 3"
    assert formatting.span(math.nan, math.nan) == ""


def test_durations():
    texts = [formatting.duration(seconds) for seconds in (100, 600, 7200, 200_000)]
    assert texts == ["100 s", "10 min", "2 h", "2 days"]


def test_sizes():
    assert [formatting.size(n) for n in (1234, 5_678_901)] == ["1 kB", "5.7 MB"]
