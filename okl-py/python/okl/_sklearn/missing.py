"""NaN in X: the parameter `missing` of the estimators."""

from __future__ import annotations

from typing import Any

from okl._okl import Learner, fill_as, fill_from_all, fill_rows
from okl._sklearn import words


class FillsMissing:
    """Rows of a stream are filled by the learner, those of a fixed set once, before the passes over them."""

    missing: Any = None  # pickles of older estimators have none
    learner_: Learner

    def _continues(self) -> bool:
        raise NotImplementedError

    def _fills(self) -> bool:
        """Whether NaN in X is filled."""
        return self.missing is not None and not words.is_word(self.missing, "refuse")

    def _filled_set(self, rows: Any) -> tuple[Any, Learner | None]:
        """The rows of a fixed set without NaN, filled from the whole set, as `predict` fills its rows, and a learner that knows what they were
        filled from; None where NaN is refused. So what is measured in `fit` holds for `predict`."""
        if not self._fills():
            return rows, None
        if self._continues():
            raise ValueError(
                "missing: fit with warm_start=True does not fill NaN; use partial_fit, or fill X first"
            )
        filler = Learner(missing=self.missing)
        fill_rows(filler, rows)
        return fill_from_all(filler, rows), filler

    def _fill_as(self, filler: Learner | None) -> None:
        if filler is not None:
            fill_as(self.learner_, filler)
            self.learner_.feature_names = list(getattr(self, "feature_names_in_", ())) or None

    def _filled_first(self, rows: Any) -> Any:
        """The first rows of a stream, without NaN: what `gamma="scale"` is computed from."""
        return fill_rows(Learner(missing=self.missing), rows)[:, : rows.shape[1]] if self._fills() else rows
