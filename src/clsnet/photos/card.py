"""A model card: what a model knows, how well, on what evidence, and what it cannot tell."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clsnet.photos.about import Info, info
from clsnet.photos.evidence import covered, why_none
from clsnet.photos.wording import listed, many

FEW = 10  # photos of a class, to rely on it
WORTH_TELLING = 0.01  # share of the photos of a class
SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&])")
UNTESTED = (
    "It was tested on no other photos. Measure it before you rely on it: clsnet test MODEL FOLDER."
)
ALIKE = "The estimate is for photos like those learned: the same cameras, light, places and habits."
LIMITS = (
    "A photo of something else is recognised as none of these only where it differs much from the "
    "classes that are known. Something that resembles a class gets the name of that class.",
    "A probability says which of the known classes it is, if it is one of them.",
    "It names one class for each photo. It does not tell where in the photo something is, how many "
    "there are, or why it decided so.",
    "Whoever taught it decided what it answers. Classes are what their folders were called.",
)


@dataclass(frozen=True)
class Card:
    """What to know about a model before using it.

    Attributes
    ----------
    name
        Name of the file.
    about
        What `info` returns for it.
    limits
        What the model cannot tell, in sentences.
    """

    name: str
    about: Info
    limits: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the card as JSON-compatible values."""
        about, expected = self.about, self.about.expectation
        accuracy = _accuracy(about)
        estimate = None
        if expected is not None and accuracy is not None:
            estimate = {
                "accuracy": accuracy[0],
                "interval": list(accuracy[1:]),
                "recognised": expected.right,
                "confused": [
                    {"class": label, "taken_for": other, "share": share}
                    for label, other, share in expected.confused
                ],
            }
        return {
            "model": self.name,
            "bytes": about.size,
            "classes": about.counts,
            "network": about.backbone,
            "features": about.features,
            "self_contained": about.self_contained,
            "estimate": estimate,
            "history": [
                {"date": change.date, "folder": change.folder, "photos": change.counts}
                for change in about.history
            ],
            "limits": self.limits,
            "inferable": about.inferable,
        }

    def as_markdown(self) -> str:
        """Return the card as a Markdown page."""
        about = self.about
        photos = many(sum(about.counts.values()), "photo")
        network = f"the frozen network {plain(about.backbone)}"
        there = "are in the file" if about.self_contained else "are not in the file"
        lines = [
            f"# {plain(self.name)}",
            "",
            f"A classifier of photos into {many(len(about.counts), 'class')}, learned from "
            f"{photos} by clsnet. A photo is represented by {about.features:,} features of "
            f"{network}. The network's weights {there}.",
        ]
        if about.counts:
            lines += ["", "## What it knows", "", *_classes(about)]
            lines += ["", "## How well, and on what evidence", "", *_estimate(about)]
            lines += ["", "It learned:", "", *_history(about)]
        lines += ["", "## What it cannot tell", "", *(f"- {plain(line)}" for line in self.limits)]
        lines += ["", "## What its file reveals", ""]
        lines += [f"- {plain(line)}" for line in about.inferable]
        return "\n".join(lines) + "\n"


def card(model: str | os.PathLike[str]) -> Card:
    """Return the model card of a model: what to know before using it.

    Parameters
    ----------
    model
        The file of the model.

    Examples
    --------
    >>> from clsnet.photos.card import card
    >>> card("/tmp/there-is-none.clsnet")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: cannot read /tmp/there-is-none.clsnet: No such file or directory.
    """
    about = info(model)
    limits = [UNTESTED, *([ALIKE] if _accuracy(about) else []), *LIMITS]
    few = [label for label, n in about.counts.items() if n < FEW]
    if few:
        limits.insert(0, f"It has seen fewer than {FEW} photos of {listed(few)}.")
    if len(about.counts) == 1:
        limits.insert(0, "It knows one class, so it can only tell whether a photo resembles it.")
    return Card(Path(model).name, about, limits)


def plain(text: str) -> str:
    r"""Return a text with Markdown's special characters escaped.

    Examples
    --------
    >>> print(plain("a_b | <c>"))
    a\_b \| \<c\>
    """
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _classes(about: Info) -> list[str]:
    lines = ["| class | photos learned | recognised, estimated |", "|---|--:|--:|"]
    right = {} if about.expectation is None else about.expectation.right
    for label, n in about.counts.items():
        share = f"{right[label]:.0%}" if label in right else "–"
        lines.append(f"| {plain(label)} | {n:,} | {share} |")
    return lines


def _history(about: Info) -> list[str]:
    return [
        f"- {plain(change.date)}: {many(sum(change.counts.values()), 'photo')} of "
        f"{many(len(change.counts), 'class')} from {plain(change.folder)}"
        for change in about.history
    ]


def _accuracy(about: Info) -> tuple[float, float, float] | None:
    return None if about.expectation is None else about.expectation.accuracy(about.counts)


def _estimate(about: Info) -> list[str]:
    expected, accuracy = about.expectation, _accuracy(about)
    if expected is None or accuracy is None:
        return [why_none(about.counts, about.keep)]
    share, low, high = accuracy
    all_of_them = len(expected.right) == len(about.counts)
    what = "these classes" if all_of_them else covered(expected.right, about.counts)
    told = (
        f"Estimated accuracy on new photos of {what}: **{share:.1%}** (95 % interval "
        f"{low:.1%} to {high:.1%}). It is computed from the sums of the photos learned, as if each "
        "had been left out; no other photos were used."
    )
    pairs = [
        f"- {part:.0%} of {plain(label)} would be taken for {plain(other)}."
        for label, other, part in expected.confused
        if part >= WORTH_TELLING
    ]
    return [told, "", *pairs] if pairs else [told]
