"""What a model of photos notes about itself, beside the sums that it learned."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.storage.schema import Misfit, listed, mapped, number, record, row, text, whole

Counts = dict[str, int]
COUNTS = mapped(whole(0, 10**9))
OLDER = {  # what version 0.1 noted beside; it is not used
    "tested": COUNTS,
    "right": COUNTS,
    "confused": listed(row(text(), text(), whole(0, 10**9)), 10**6),
    "forgotten": whole(0, 10**9),
}
NOTES = record(
    {},
    {
        "history": listed(
            record({"date": text(100)}, {"folder": text(), "counts": COUNTS, **OLDER}), most=10**6
        ),
        "digests": mapped(listed(text(64), most=10**7)),
        "familiarity": mapped(listed(number(), most=10**7)),
        "changed": text(100),
        **dict.fromkeys(("scores", "losses"), mapped(listed(number(), most=10**7))),
    },
)
"""What the notes of a model may hold."""


@dataclass(frozen=True)
class Change:
    """One learning of a folder.

    Attributes
    ----------
    date
        When, in local time.
    folder
        Name of the folder.
    counts
        Photos learned of each class.
    """

    date: str
    folder: str = ""
    counts: Counts = field(default_factory=dict)

    def without(self, classes: Collection[str]) -> Change:
        """Return the change as if `classes` had not been there."""
        counts = {label: n for label, n in self.counts.items() if label not in classes}
        return replace(self, counts=counts)


@dataclass(frozen=True)
class Record:
    """Everything noted. Each part is of one class, so that forgetting others leaves it as it is.

    Attributes
    ----------
    history
        Every learning of what is still known, oldest first.
    digests
        Of each class, the digests of the files learned.
    familiarity
        Of each class, the familiarity of photos that were held out, sorted.
    changed
        When the model was last changed, in universal time.

    Examples
    --------
    >>> record = Record([Change("2024-01-01", "january", {"cat": 2, "dog": 1})])
    >>> record.without(["dog"]).history[0].counts
    {'cat': 2}
    """

    history: list[Change] = field(default_factory=list)
    digests: dict[str, list[str]] = field(default_factory=dict)
    familiarity: dict[str, list[float]] = field(default_factory=dict)
    changed: str = ""

    @staticmethod
    def of(notes: dict[str, Any]) -> Record:
        """Read the notes of a model; those of older versions held more."""
        plain = notes.get("photos", {})
        try:
            NOTES.check(plain, "notes")
        except Misfit as error:
            raise ClsnetError(f"the notes of the model are damaged: {error}.") from None
        history = [
            Change(change["date"], change.get("folder", ""), change.get("counts", {}))
            for change in plain.get("history", ())
        ]
        return Record(
            [change for change in history if change.counts],
            plain.get("digests", {}),
            plain.get("familiarity", {}),
            plain.get("changed", ""),
        )

    @property
    def notes(self) -> dict[str, Any]:
        """The same as notes of a model."""
        return {"photos": asdict(self)}

    def after(
        self,
        change: Change,
        digests: dict[str, list[str]] | None = None,
        familiarity: dict[str, list[float]] | None = None,
    ) -> Record:
        """Return the record after a further learning, with what it brought of each class."""
        return Record(
            [*self.history, change],
            _joined(self.digests, digests or {}),
            _joined(self.familiarity, familiarity or {}),
            moment(),
        )

    def without(self, classes: Collection[str]) -> Record:
        """Return the record as if `classes` had never been learned."""
        left = (change.without(classes) for change in self.history)
        return Record(
            [change for change in left if change.counts],
            {label: kept for label, kept in self.digests.items() if label not in classes},
            {label: kept for label, kept in self.familiarity.items() if label not in classes},
            moment(),
        )

    def threshold(self, reject: float) -> float:
        """Return the familiarity that this share of the photos held out did not reach."""
        held = [one for kept in self.familiarity.values() for one in kept]
        return float(np.quantile(held, reject)) if held and reject > 0 else -np.inf


def _joined(old: dict[str, list[Any]], new: dict[str, list[Any]]) -> dict[str, list[Any]]:
    both = {label: sorted([*old[label], *kept]) for label, kept in new.items() if label in old}
    return {**old, **new, **both}


def now() -> str:
    """Return the local time to the second."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def moment() -> str:
    """Return the universal time, so that later is greater."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def local(moment: str) -> str:
    """Return a universal time as local time to the second, and what is none as it is."""
    try:
        return datetime.fromisoformat(moment).astimezone().isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return moment
