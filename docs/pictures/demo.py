"""Draws `demo.svg` from the first chart of the report that `okl demo` writes: `python demo.py report.html demo.svg`.

The chart of the report is stretched by its page; the picture stands alone, so axes, legend and colours are drawn here.
"""

import re
import sys
from html import unescape
from pathlib import Path

WIDTH, HEIGHT = 760, 300
LEFT, TOP, RIGHT, BOTTOM = 56, 58, 16, 40
COLOURS = {"a": "#0b6bb5", "b": "#d9730d", "c": "#5b6576", "d": "#158a63"}
DASHED = "c"
MANY = 200.0  # The plot's own units run from 0 to 1,000; what lies far outside is cut off here.


def points(path: str) -> str:
    """A path in the plot's units of 0 to 1,000 as a path of the picture."""
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    pairs = [tuple(map(float, pair.split())) for pair in path[1:].split("L")]
    inside = [(LEFT + x * wide / 1000, TOP + max(y, -MANY) * high / 1000) for x, y in pairs]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in inside)


def drawing(html: str) -> str:
    figure = html[html.index('<figure class="chart wide">') : html.index("</figure>")]
    names = [(k, unescape(n)) for k, n in re.findall(r'<i class="key (\w)"></i>(.*?)</li>', figure)]
    lines = re.findall(r'<path class="line (\w)" d="(M[^"]*)"', figure)
    x_end = float(re.search(r'data-x="0 (\S+) 0"', figure)[1])
    y_end = float(re.search(r'data-y="0 (\S+) 0"', figure)[1])
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<clipPath id="plot"><rect x="{LEFT}" y="{TOP}" width="{wide}" height="{high}"/></clipPath>',
        f'<text x="{LEFT}" y="20" font-weight="600" fill="#1c2330">Share of wrong predictions, each made before its row is learned</text>',
    ]
    across = LEFT
    for key, name in names:
        dash = ' stroke-dasharray="5 4"' if key == DASHED else ""
        parts.append(f'<path d="M{across} 38h20" stroke="{COLOURS[key]}" stroke-width="2"{dash}/>')
        parts.append(f'<text x="{across + 26}" y="42" fill="#5b6576">{name}</text>')
        across += 44 + round(6.4 * len(name))
    for i in range(4):
        y, value = TOP + high * i / 3, y_end * (3 - i) / 3
        parts.append(f'<path d="M{LEFT} {y:.1f}h{wide}" stroke="#e6e9ee"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#5b6576">{value:.0%}</text>')
    for i in range(5):
        x, value = LEFT + wide * i / 4, round(x_end * i / 4)
        anchor = "end" if i == 4 else "middle"
        parts.append(f'<path d="M{x:.1f} {TOP}v{high}" stroke="#e6e9ee"/>')
        parts.append(f'<text x="{x:.1f}" y="{TOP + high + 18}" text-anchor="{anchor}" fill="#5b6576">{value:,}</text>')
    parts.append(f'<text x="{LEFT + wide}" y="{TOP + high + 34}" text-anchor="end" fill="#5b6576">rows</text>')
    for key, path in lines:
        dash = ' stroke-dasharray="5 4"' if key == DASHED else ""
        style = f'fill="none" stroke="{COLOURS[key]}" stroke-width="1.8" clip-path="url(#plot)"{dash}'
        parts.append(f'<path d="{points(path)}" {style}/>')
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(drawing(Path(sys.argv[1]).read_text()))
