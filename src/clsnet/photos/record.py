"""What a model of photos notes about itself, beside the sums that it learned."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.storage.schema import Misfit, listed, mapped, number, record, row, text, whole

Counts = dict[str, int]
Kept = TypeVar("Kept")

TEMPERATURES = tuple(0.04 * 2 ** (step / 4) for step in range(17))
COUNTS = mapped(whole(0, 10**9))
NOTES = record(
    {},
    {
        "history": listed(
            record(
                {
                    "date": text(100),
                    "confused": listed(row(text(), text(), whole(0, 10**9)), 10**6),
                },
                {
                    "folder": text(),
                    **dict.fromkeys(("counts", "tested", "right"), COUNTS),
                    "forgotten": whole(0, 10**9),
                },
            ),
            most=10**6,
        ),
        "digests": mapped(listed(text(64), most=10**7)),
        "scores": mapped(listed(number(), most=10**7)),
        "losses": mapped(listed(number(), most=len(TEMPERATURES), least=len(TEMPERATURES))),
    },
)
"""What the notes of a model may hold."""


@dataclass(frozen=True)
class Change:
    """One learning of a folder, or one forgetting.

    Attributes
    ----------
    date
        When, in local time.
    folder
        Name of the folder that was learned.
    counts
        Photos learned of each class.
    tested, right
        Photos of each class that were held out, and how many of them were recognised.
    confused
        Class, the other class that its photos were taken for, and how many were.
    forgotten
        Number of classes forgotten; their names are not kept.
    """

    date: str
    folder: str = ""
    counts: Counts = field(default_factory=dict)
    tested: Counts = field(default_factory=dict)
    right: Counts = field(default_factory=dict)
    confused: list[tuple[str, str, int]] = field(default_factory=list)
    forgotten: int = 0

    def without(self, classes: Collection[str]) -> Change:
        """Return the change as if `classes` had not been there."""
        counts, tested, right = (
            {label: n for label, n in each.items() if label not in classes}
            for each in (self.counts, self.tested, self.right)
        )
        confused = [line for line in self.confused if not {*line[:2]} & {*classes}]
        return replace(self, counts=counts, tested=tested, right=right, confused=confused)


@dataclass(frozen=True)
class Record:
    """Everything noted.

    Attributes
    ----------
    history
        Every change, oldest first.
    digests
        Of each class, the digests of the files learned.
    scores
        Of each class, the familiarity of photos that were held out, sorted.
    losses
        Of each class, minus the log probability of those photos, summed, for each of
        `TEMPERATURES`.

    Examples
    --------
    >>> record = Record([Change("2024-01-01", "january", {"cat": 2, "dog": 1})])
    >>> record.without(["dog"]).history[0].counts
    {'cat': 2}
    """

    history: list[Change] = field(default_factory=list)
    digests: dict[str, list[str]] = field(default_factory=dict)
    scores: dict[str, list[float]] = field(default_factory=dict)
    losses: dict[str, list[float]] = field(default_factory=dict)

    @staticmethod
    def of(notes: dict[str, Any]) -> Record:
        """Read the notes of a model."""
        plain = notes.get("photos", {})
        try:
            NOTES.check(plain, "notes")
        except Misfit as error:
            raise ClsnetError(f"the notes of the model are damaged: {error}.") from None
        history = [
            Change(**{**change, "confused": [tuple(line) for line in change["confused"]]})
            for change in plain.get("history", ())
        ]
        return Record(
            history, plain.get("digests", {}), plain.get("scores", {}), plain.get("losses", {})
        )

    @property
    def notes(self) -> dict[str, Any]:
        """The same as notes of a model."""
        return {"photos": asdict(self)}

    def after(
        self,
        change: Change,
        digests: dict[str, list[str]] | None = None,
        scores: dict[str, list[float]] | None = None,
        losses: dict[str, list[float]] | None = None,
    ) -> Record:
        """Return the record after a further change, with what it brought of each class."""
        return Record(
            [*self.history, change],
            _joined(self.digests, digests or {}, lambda old, new: sorted([*old, *new])),
            _joined(self.scores, scores or {}, lambda old, new: sorted([*old, *new])),
            _joined(self.losses, losses or {}, lambda old, new: np.add(old, new).tolist()),
        )

    def without(self, classes: Collection[str]) -> Record:
        """Return the record as if `classes` had never been learned."""
        left = (change.without(classes) for change in self.history)
        return Record(
            [change for change in left if change.counts or change.forgotten],
            {label: kept for label, kept in self.digests.items() if label not in classes},
            {label: kept for label, kept in self.scores.items() if label not in classes},
            {label: kept for label, kept in self.losses.items() if label not in classes},
        )

    def threshold(self, reject: float) -> float:
        """Return the familiarity that this share of the photos held out did not reach."""
        scores = [score for kept in self.scores.values() for score in kept]
        return float(np.quantile(scores, reject)) if scores and reject > 0 else -np.inf

    def temperature(self, otherwise: float) -> float:
        """By what to divide scores, so that probabilities hold for the photos held out.

        It stays about the same while classes are added, unlike the noise of the scores.
        """
        if not self.losses:
            return otherwise
        return TEMPERATURES[int(np.sum(list(self.losses.values()), axis=0).argmin())]


def _joined(
    old: dict[str, list[Kept]],
    new: dict[str, list[Kept]],
    join: Callable[[list[Kept], list[Kept]], list[Kept]],
) -> dict[str, list[Kept]]:
    both = {label: join(old[label], kept) for label, kept in new.items() if label in old}
    return {**old, **new, **both}


def now() -> str:
    """Return the local time to the second."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
