"""``clsnet predict``: classify photos."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clsnet.cli.allowing import AllowNetwork
from clsnet.errors import ClsnetError

if TYPE_CHECKING:
    from clsnet.photos import Prediction

NONE = "none of these"


def predict(
    model: Annotated[Path, typer.Argument(help="File of the model.")],
    paths: Annotated[list[Path], typer.Argument(help="Photos and folders of photos.")],
    top: Annotated[int, typer.Option(min=1, help="How many classes to name.")] = 1,
    reject: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.99,
            help="Share of photos of known classes that may be rejected as 'none of these'; "
            "0 always names a class.",
        ),
    ] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    allow_network: AllowNetwork = None,
) -> None:
    """Name the class of each photo with its probability, or say that it is none of these.

    Probabilities assume that the photo shows one of the known classes. In CSV, the column known is
    false for none of these. The exit status is 1 if some photos could not be read.
    """
    from clsnet.cli.alike import grouped
    from clsnet.cli.console import PlainConsole
    from clsnet.cli.output import say
    from clsnet.cli.showing import progress
    from clsnet.photos import predict as predict_photos
    from clsnet.photos.wording import many

    if as_json and as_csv:
        raise ClsnetError("give --json or --csv, not both.")
    with progress(PlainConsole(stderr=True)) as report:
        found = predict_photos(
            model, paths, top=top, reject=reject, report=report, allow=allow_network or ()
        )
    if as_json:
        _print_json(found)
    elif as_csv:
        _print_csv(found, top)
    else:
        _print_table(found)
    unreadable = [one.unreadable for one in found if one.unreadable]
    for line in grouped(unreadable):
        say(line)
    if unreadable:
        say(f"{many(len(unreadable), 'photo')} could not be read.")
        raise typer.Exit(1)


def _print_json(found: list[Prediction]) -> None:
    rows = [
        {"file": str(one.path), "error": one.unreadable}
        if one.unreadable
        else {
            "file": str(one.path),
            "class": one.label,
            "top": [{"class": label, "probability": chance} for label, chance in one.top],
        }
        for one in found
    ]
    print(json.dumps(rows, indent=2))


def _print_csv(found: list[Prediction], top: int) -> None:
    from clsnet.cli.output import cell

    writer = csv.writer(sys.stdout, lineterminator="\n")
    more = [f"{name}_{i}" for i in range(1, top + 1) for name in ("class", "probability")]
    writer.writerow(["file", "class", *more, "error", "known"])
    for one in found:
        label = "" if one.unreadable else one.label or NONE
        known = "" if one.unreadable else str(one.label is not None).lower()
        cells = [part for name, chance in one.top for part in (cell(name), f"{chance:.4f}")]
        cells += [""] * (len(more) - len(cells))
        writer.writerow([cell(one.path), cell(label), *cells, cell(one.unreadable), known])


def _print_table(found: list[Prediction]) -> None:
    from clsnet.cli.tables import print_table

    rows = []
    for one in found:
        answers = [(label, f"{chance:.1%}") for label, chance in one.top]
        if one.unreadable:
            answers = [("cannot be read", "")]
        elif one.label is None:
            answers = [(NONE, ""), *((f"({label})", chance) for label, chance in answers)]
        paths = [str(one.path), *[""] * (len(answers) - 1)]
        rows += [[path, *answer] for path, answer in zip(paths, answers, strict=True)]
    print_table(["photo", "class", "probability"], rows, ["probability"])
