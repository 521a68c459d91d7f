"""The notes of a model of photos, stored beside its sums."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from clsnet.classifier.learned_task import moved_counts, renamed_keys
from clsnet.errors import ClsnetError
from clsnet.photos.expectation import ACCEPTED, Expectation
from clsnet.photos.rejection import Rejection
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
        "expectation": ACCEPTED,
        "changed": text(100),
        **dict.fromkeys(("scores", "losses"), mapped(listed(number(), most=10**7))),
    },
)
"""What the notes of a model may hold."""


@dataclass(frozen=True)
class Change:
    """One call of `learn`.

    Attributes
    ----------
    date
        When it was, in local time.
    folder
        Name of the folder.
    counts
        Number of photos learned of each class.
    """

    date: str
    folder: str = ""
    counts: Counts = field(default_factory=dict)

    def order(self) -> tuple[Any, ...]:
        """Return what to sort by: the date, of whatever time zone, and what tells equals apart."""
        try:
            when = datetime.fromisoformat(self.date).astimezone(UTC)
        except (ValueError, OverflowError):  # no date
            when = datetime.min.replace(tzinfo=UTC)
        return when, self.folder, sorted(self.counts.items())

    def without(self, classes: Collection[str]) -> Change:
        """Return the change as if `classes` had not been there."""
        counts = {label: n for label, n in self.counts.items() if label not in classes}
        return replace(self, counts=counts)


@dataclass(frozen=True)
class Record:
    """All notes. Each part belongs to one class, so that forgetting others leaves it unchanged.

    Attributes
    ----------
    history
        Every call of `learn` for classes that are still known, oldest first.
    digests
        For each class, the digests of the files learned.
    familiarity
        For each class, the familiarity of each of its photos to the others, sorted.
    changed
        When the model was last changed, in universal time.
    expectation
        What to expect of new photos. It is computed from the sums, anew after every change.

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
    expectation: Expectation | None = None

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
            Expectation.of(plain["expectation"]) if "expectation" in plain else None,
        )

    @property
    def notes(self) -> dict[str, Any]:
        """The same as notes of a model."""
        plain = asdict(self)
        if self.expectation is None:
            del plain["expectation"]
        return {"photos": plain}

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

    def holding(self, digest: str) -> list[str]:
        """Return the classes that a file was learned as."""
        return [label for label, digests in self.digests.items() if digest in digests]

    def moved(
        self, old: str, new: str | None, fits: Mapping[str, tuple[float, float | None]]
    ) -> Record:
        """Return the record as if photos had been learned as the class `new`, or never if None.

        The familiarity that is noted of a photo is the one next to what it would be now.

        Parameters
        ----------
        old, new
            The class that has the photos, and the one that gets them.
        fits
            For each photo's digest, how familiar it is to the others of the old and the new class;
            None if there are none.
        """
        mine, numbers = sorted(self.digests[old]), list(self.familiarity.get(old, ()))
        for own, _ in fits.values():
            if numbers:
                numbers.remove(min(numbers, key=lambda number: abs(number - own)))
        digests = {**self.digests, old: [digest for digest in mine if digest not in fits]}
        familiarity = {**self.familiarity, old: numbers}
        if new is not None:
            digests = _joined(digests, {new: list(fits)})
            found = [fit for _, fit in fits.values() if fit is not None]
            familiarity = _joined(familiarity, {new: found})
        counts = moved_counts([change.counts for change in self.history], old, new, len(fits))
        return Record(
            [replace(c, counts=n) for c, n in zip(self.history, counts, strict=True) if n],
            {label: kept for label, kept in digests.items() if kept},
            {label: kept for label, kept in familiarity.items() if kept},
            moment(),
        )

    def renamed(self, names: Mapping[str, str]) -> Record:
        """Return the record with new names for classes."""
        return Record(
            [replace(c, counts=renamed_keys(c.counts, names)) for c in self.history],
            renamed_keys(self.digests, names),
            renamed_keys(self.familiarity, names),
            moment(),
        )

    @staticmethod
    def merged(records: Iterable[Record]) -> Record:
        """Return the notes of several records as one, the oldest call of `learn` first."""
        found = Record(changed=moment())
        for one in records:
            found = Record(
                [*found.history, *one.history],
                _joined(found.digests, one.digests),
                _joined(found.familiarity, one.familiarity),
                found.changed,
            )
        return replace(found, history=sorted(found.history, key=Change.order))

    @property
    def rejection(self) -> Rejection:
        """Which photos are none of these."""
        return Rejection.of(self.familiarity, self.expectation, len(self.digests))


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
    """Return a universal time as local time to the second; other text is returned unchanged."""
    try:
        return datetime.fromisoformat(moment).astimezone().isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return moment
