"""Draws the predictions of a model of two features as regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from okl._columns import FILL_MASKED, check_unmasked
from okl._plot.models import View, view
from okl._plot.style import MARK, POINTS, REGIONS, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Scene(NamedTuple):
    """Grid points and data rows, with the model's predictions for both."""

    across: np.ndarray
    up: np.ndarray
    places: View
    points: np.ndarray
    rows: View
    y: np.ndarray | None

    def grid(self, values: np.ndarray) -> tuple[np.ndarray, ...]:
        """The values of the grid points in the form that matplotlib's contour functions need."""
        return self.across, self.up, values.reshape(len(self.up), len(self.across))


def decision_regions(
    model: Any, X: ArrayLike, y: ArrayLike | None = None, ax: Axes | None = None, resolution: int = 200
) -> Axes:
    """Draws the predictions of a fitted model of two features over the plane, and the rows of `X`.

    For a classifier the predicted classes (for two classes also the margins), for a detector the score and its
    threshold, for a regressor the prediction.

    Parameters
    ----------
    model : okl.Learner, an estimator of okl.sklearn, or a pipeline that ends in one
    X : array-like of shape (n, 2)
        Rows to show; their range is the range of the picture.
    y : array-like of shape (n,), optional
        Their targets. None: the predictions of the model are shown.
    ax : matplotlib axes, optional
    resolution : int, default=200
        The number of grid points in each direction.

    Returns
    -------
    matplotlib axes
    """
    check_unmasked("X", X, FILL_MASKED)
    check_unmasked("y", y, FILL_MASKED)
    points = np.asarray(X, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"decision regions are drawn for two features, found X of shape {points.shape}")
    across, up = (span(points[:, i], resolution) for i in (0, 1))
    places = np.column_stack([values.ravel() for values in np.meshgrid(across, up)])
    seen, target = view(model, X), None if y is None else np.asarray(y)
    scene = Scene(across, up, view(model, like(X, places)), points, seen, target)
    ax = axes(ax, size=(6.0, 5.0))
    ax.grid(visible=False)
    {"classes": draw_classes, "novelty": draw_novelty, "numbers": draw_numbers}[seen.kind](ax, scene)
    names = list(getattr(X, "columns", ["feature 0", "feature 1"]))
    ax.set(xlim=(across[0], across[-1]), ylim=(up[0], up[-1]), xlabel=names[0], ylabel=names[1])
    return ax


def span(values: np.ndarray, count: int) -> np.ndarray:
    """Grid points over the range of a feature, with a margin."""
    low, high = values.min(), values.max()
    margin = 0.08 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, count)


def like(X: Any, places: np.ndarray) -> Any:
    """Grid points in the form of X: a data frame with the same columns if X is one."""
    return type(X)(places, columns=X.columns) if type(X).__module__.startswith("pandas") else places


def code_of(label: Any, names: Sequence[Any]) -> int:
    if label not in names:
        raise ValueError(
            f"y: the model has no class {label!r}; its classes are {', '.join(map(repr, names))}"
        )
    return list(names).index(label)


def draw_classes(ax: Axes, scene: Scene) -> None:
    names, places = scene.places.names, scene.places
    colours = [REGIONS[code % len(REGIONS)] for code in range(len(names))]
    ax.contourf(*scene.grid(places.values), levels=np.arange(len(names) + 1) - 0.5, colors=colours)
    if places.decision is not None:
        decision = scene.grid(places.decision)
        ax.contour(*decision, levels=[-1, 1], colors="#404040", linewidths=0.8, linestyles="--")
        ax.contour(*decision, levels=[0], colors="#404040", linewidths=1.6)
    codes = scene.rows.values if scene.y is None else [code_of(label, names) for label in scene.y.tolist()]
    for code, name in enumerate(names):
        x, y = scene.points[np.equal(codes, code)].T
        ax.scatter(x, y, s=16, color=POINTS[code % len(POINTS)], edgecolor="white", lw=0.4, label=str(name))
    legend(ax, "predicted" if scene.y is None else "class")


def draw_novelty(ax: Axes, scene: Scene) -> None:
    picture = ax.contourf(*scene.grid(scene.places.values), levels=14, cmap="Blues")
    ax.contour(*scene.grid(scene.places.values), levels=[0], colors=MARK, linewidths=1.6)
    novel = scene.rows.values < 0
    (x, y), (novel_x, novel_y) = scene.points[~novel].T, scene.points[novel].T
    ax.scatter(x, y, s=7, color="#12365f", lw=0, label="normal")
    ax.scatter(novel_x, novel_y, s=26, facecolor="none", edgecolor=MARK, lw=1.2, label="novel")
    ax.figure.colorbar(picture, ax=ax, label="score - threshold")
    legend(ax, None)


def draw_numbers(ax: Axes, scene: Scene) -> None:
    targets = scene.rows.values if scene.y is None else scene.y.reshape(len(scene.y), -1)[:, 0].astype(float)
    both = np.concatenate([scene.places.values, targets])
    low, high = both.min(), max(both.max(), both.min() + 1e-9)
    picture = ax.contourf(*scene.grid(scene.places.values), levels=np.linspace(low, high, 16), cmap="viridis")
    x, y = scene.points.T
    ax.scatter(x, y, c=targets, s=24, cmap="viridis", vmin=low, vmax=high, edgecolor="white", lw=0.6)
    ax.figure.colorbar(
        picture, ax=ax, label="prediction" if scene.y is None else "prediction; points: targets"
    )


def legend(ax: Axes, title: str | None) -> None:
    ax.legend(title=title, frameon=True, framealpha=0.85, edgecolor="none")
