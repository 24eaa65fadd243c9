"""Charts of a stream over its rows: errors, step sizes, terms and alerts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from okl._plot.history import History
from okl._plot.models import CLASSES, SIGNS, learner_of, loss_of, nu_of
from okl._plot.style import FAINT, LINE, MARK, axes, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


OUTSIDE = {
    "nu_hinge": "margin errors",
    "nu_epsilon": "rows outside the tube",
    "nu_huber": "rows outside the scale",
}
"""What the losses with nu count that are not detectors."""


def progressive_error(history: History, ax: Axes | None = None) -> Axes:
    """Draws the error of predictions made before each row was learned: over all rows, and since the last record."""
    values = checked(history, "error", "the model has no targets: draw alert_rate")
    ax = axes(ax)
    shares = loss_of(history.model) in SIGNS + CLASSES
    rows = history.column("rows")
    ax.plot(rows, history.column("recent_error"), color=FAINT, lw=1, label=rows_of_a_record(history))
    ax.plot(rows, values, color=LINE, lw=2, label="so far")
    ax.set_title("Progressive error")
    ax.set_ylabel("wrong" if shares else "mean absolute error")
    return finished(history, ax, percent=shares)


def step_size(history: History, ax: Axes | None = None) -> Axes:
    """Draws the step size eta."""
    values = checked(history, "eta", "")
    ax = axes(ax)
    ax.plot(history.column("rows"), values, color=LINE, lw=2)
    ax.set_title("Step size")
    ax.set_ylabel("eta")
    if values.max() > 30 * values.min() > 0:
        ax.set_yscale("log")
    return finished(history, ax)


def terms(history: History, ax: Axes | None = None) -> Axes:
    """Draws the number of terms, and the limit of the budget if it has one."""
    values = checked(history, "terms", "")
    ax = axes(ax)
    rows, most = history.column("rows"), history.column("most_terms")
    ax.plot(rows, values, color=LINE, lw=2)
    if not np.isnan(most).all():
        rule = next(iter(learner_of(history.model).config["budget"]))
        ax.plot(
            [0, *rows], [most[0], *most], color=MARK, lw=1, ls="--", ds="steps-pre", label=f"budget ({rule})"
        )
    ax.set_title("Terms")
    ax.set_ylabel("terms")
    return finished(history, ax)


def alert_rate(history: History, ax: Axes | None = None) -> Axes:
    """Draws the share of alerts over all rows and since the last record, the requested share, and the certificate.

    With `nu_hinge` these are margin errors, with `nu_epsilon` and `nu_huber` rows outside the tube or scale.
    """
    values = checked(history, "alert_rate", "only losses with nu have one, once their threshold is there")
    ax = axes(ax)
    rows, bound, recent = (history.column(name) for name in ("rows", "bound", "recent_alert_rate"))
    nu = nu_of(history.model)
    ax.plot(rows, recent, color=FAINT, lw=1, label=rows_of_a_record(history))
    ax.fill_between(rows, nu - bound, nu + bound, color=MARK, alpha=0.2, lw=0, label="certificate")
    ax.axhline(nu, color=MARK, lw=1, ls="--", label=f"nu = {nu:g}")
    ax.plot(rows, values, color=LINE, lw=2, label="so far")
    # A burst of alerts would flatten the rest of the chart, so it is cut off and marked.
    top = min(1.05, max(4 * nu, 1.2 * np.nanmax(values)))
    burst = rows[recent > top]
    if len(burst) > 0:
        ax.scatter(
            burst,
            np.full(len(burst), top),
            marker="^",
            color=LINE,
            s=22,
            clip_on=False,
            label="more than shown",
        )
    ax.set_ylim(top=top)
    outside = OUTSIDE.get(loss_of(history.model), "alerts")
    ax.set_title("Alert rate" if outside == "alerts" else f"Share of {outside}")
    ax.set_ylabel(outside)
    return finished(history, ax, percent=True)


def summary(history: History) -> Figure:
    """Draws all charts that apply to the model in one figure."""
    drawn = [progressive_error] if not np.isnan(history.column("error")).all() else []
    drawn += [alert_rate] if not np.isnan(history.column("alert_rate")).all() else []
    drawn += [step_size, terms]
    shape = (2, 2) if len(drawn) == 4 else (1, len(drawn))
    size = (5 * shape[1], 3.5 * shape[0])
    figure, spaces = pyplot().subplots(*shape, figsize=size, layout="constrained", squeeze=False)
    for draw, ax in zip(drawn, spaces.flat, strict=True):
        draw(history, ax)
    return figure


def checked(history: History, name: str, otherwise: str) -> np.ndarray:
    """The values of a column; an error if there is nothing to draw."""
    values = history.column(name)
    if len(values) == 0:
        raise ValueError("nothing is recorded yet: call learn first")
    if np.isnan(values).all():
        raise ValueError(f"there is no {name.replace('_', ' ')} to draw: {otherwise}")
    return values


def rows_of_a_record(history: History) -> str:
    """The rows of a record. The last record can have fewer."""
    fewer = history.column("rows")[-1] % history.every
    return f"last {history.every} rows" + (f" (at the end {fewer})" if fewer else "")


def finished(history: History, ax: Axes, percent: bool = False) -> Axes:
    """Sets the properties that all charts share: axes, ticks and legend."""
    from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter

    if percent:
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    if ax.get_yscale() == "linear":
        ax.set_ylim(bottom=0)
    ax.set_xlim(0, history.column("rows")[-1])
    ax.set_xlabel("rows")
    ax.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)
    return ax
