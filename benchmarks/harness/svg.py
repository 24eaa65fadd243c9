"""Charts as SVG text: points and lines on linear or logarithmic axes."""

from __future__ import annotations

import math
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 30, 44


class Series(NamedTuple):
    name: str
    colour: str
    points: list[tuple[float, float]]
    labels: list[str]
    """One per point, shown when the pointer rests on it."""


class Axis(NamedTuple):
    """A scale from values to places between `start` and `end`."""

    low: float
    high: float
    log: bool
    start: float
    end: float

    def place(self, value: float) -> float:
        low, high, value = (math.log10(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            wide = self.high / self.low
            steps = range(1, 10) if wide < 5 else (1, 2, 5) if wide < 200 else (1,)
            ticks = [step * 10.0**decade for decade in decades for step in steps]
        else:
            unit = 10.0 ** math.floor(math.log10((self.high - self.low) / 3))
            unit *= next(m for m in (1, 2, 5, 10) if (self.high - self.low) / (unit * m) <= 6)
            ticks = [unit * i for i in range(math.floor(self.low / unit), math.ceil(self.high / unit) + 1)]
        return [tick for tick in ticks if self.low * (1 - 1e-9) <= tick <= self.high * (1 + 1e-9)]


def axis(values: list[float], log: bool, start: float, end: float) -> Axis:
    """Room around the values; a logarithmic axis shows the positive ones."""
    kept = [value for value in values if value > 0] if log else [*values, 0.0]
    low, high = (min(kept), max(kept)) if kept else (1.0, 10.0)
    if log:
        return Axis(low / 1.25, high * 1.25, True, start, end)
    return Axis(low, high + 0.08 * (high - low or 1.0), False, start, end)


def short(value: float) -> str:
    """12 µ, 3.4 m, 250, 1.2 k, 10 M."""
    if value == 0:
        return "0"
    for unit, name in ((1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, ""), (1e-3, " m"), (1e-6, " µ")):
        if abs(value) >= unit * 0.9999:
            return f"{value / unit:.3g}{name}"
    return f"{value:.2g}"


def chart(title: str, x: str, y: str, series: list[Series], log_x: bool = True, log_y: bool = True) -> str:
    """A chart; what a logarithmic axis cannot show is left out."""
    shown = [
        each._replace(points=[p for p in each.points if (p[0] > 0 or not log_x) and (p[1] > 0 or not log_y)])
        for each in series
    ]
    points = [point for each in shown for point in each.points]
    across = axis([p[0] for p in points], log_x, LEFT, WIDTH - RIGHT)
    up = axis([p[1] for p in points], log_y, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        f'<text class="title" x="{LEFT}" y="17">{escape(title)}</text>',
        *(grid_line(across, tick, True) for tick in across.ticks()),
        *(grid_line(up, tick, False) for tick in up.ticks()),
        name(x, f"translate({(LEFT + WIDTH) / 2} {HEIGHT - 8})"),
        name(y, f"translate(13 {HEIGHT / 2}) rotate(-90)"),
        *(marks(each, across, up) for each in shown),
        "</svg>",
    ]
    return "\n".join(parts)


def name(text: str, transform: str) -> str:
    return f'<text transform="{transform}" text-anchor="middle">{escape(text)}</text>'


def grid_line(scale: Axis, tick: float, across: bool) -> str:
    at = f"{scale.place(tick):.1f}"
    if across:
        line = f'<line class="grid" x1="{at}" x2="{at}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        return line + f'<text x="{at}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{short(tick)}</text>'
    line = f'<line class="grid" y1="{at}" y2="{at}" x1="{LEFT}" x2="{WIDTH - RIGHT}"/>'
    return line + f'<text x="{LEFT - 5}" y="{at}" dy="4" text-anchor="end">{short(tick)}</text>'


def marks(series: Series, across: Axis, up: Axis) -> str:
    places = [(across.place(a), up.place(b)) for a, b in series.points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    line = (
        f'<polyline points="{path}" fill="none" stroke="{series.colour}" stroke-width="1.5"/>'
        if len(places) > 1
        else ""
    )
    dots = [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{series.colour}">'
        f"<title>{escape(f'{series.name} {label}')}</title></circle>"
        for (a, b), label in zip(places, series.labels)
    ]
    return line + "".join(dots)
