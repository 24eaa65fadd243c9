"""Charts are well-formed and put points where they belong."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from harness.svg import Axis, Series, axis, chart, short


def circles(text: str) -> list[tuple[float, float]]:
    found = ElementTree.fromstring(text).iter("circle")
    return [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in found]


def test_a_decade_is_as_wide_as_the_next_on_a_logarithmic_axis() -> None:
    points = [(1.0, 1.0), (10.0, 10.0), (100.0, 100.0)]
    (a, d), (b, e), (c, f) = circles(chart("t", "x", "y", [Series("s", "#000", points, ["", "", ""])]))
    assert b - a == pytest.approx(c - b, abs=0.11) and d - e == pytest.approx(e - f, abs=0.11)
    assert a < b and d > e, "to the right and up is more"


def test_what_a_logarithm_cannot_show_is_left_out() -> None:
    series = Series("s", "#000", [(0.0, 1.0), (1.0, 1.0), (2.0, 3.0)], ["", "", ""])
    assert len(circles(chart("t", "x", "y", [series]))) == 2


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [[3.0], [0.02, 0.031], [1e-6, 5e3], [7.0, 7.0]])
def test_ticks_lie_on_the_axis(values: list[float], log: bool) -> None:
    made = axis(values, log, 0, 100)
    assert made.low <= min(values) and max(values) <= made.high
    assert all(-1e-6 <= made.place(tick) <= 100 + 1e-6 for tick in made.ticks())
    assert made.ticks()


def test_names_are_escaped() -> None:
    text = chart("a < b & c", "x", "y", [Series("<s>", "#000", [(1.0, 2.0)], ["&"])])
    assert ElementTree.fromstring(text).get("aria-label") == "a < b & c"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (2e-5, "20 µ"), (0.25, "250 m"), (12, "12"), (1500, "1.5 k"), (1e7, "10 M")],
)
def test_short_numbers(value: float, text: str) -> None:
    assert short(value) == text


def test_an_axis_runs_backwards_when_its_end_is_before_its_start() -> None:
    up = Axis(0, 10, False, 300, 0)
    assert up.place(0) == 300 and up.place(10) == 0
