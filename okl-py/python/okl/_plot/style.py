"""Colours and axes. matplotlib is imported when the first chart is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE, FAINT, MARK = "#1f5fa8", "#a8c6e8", "#d1661c"
REGIONS = ["#c6dbef", "#fdd0a2", "#c7e9c0", "#dadaeb", "#fbd0e2", "#e2d5c5", "#c5eaf0", "#dcdcdc"]
POINTS = ["#1f5fa8", "#c2500f", "#2c7d36", "#5f4b9b", "#b03a7c", "#6f5334", "#157d8c", "#555555"]


def pyplot() -> Any:
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError(
            "okl.plot draws with matplotlib, which is not installed: pip install matplotlib"
        ) from error
    return matplotlib.pyplot


def axes(ax: Axes | None, size: tuple[float, float] = (7.0, 4.0)) -> Axes:
    """The given axes, or new ones, in the style of okl."""
    if ax is None:
        ax = pyplot().subplots(figsize=size, layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#e6e6e6", lw=0.6)
    ax.set_axisbelow(True)
    return ax
