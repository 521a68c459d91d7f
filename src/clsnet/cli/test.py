"""``clsnet test``: test a model on labelled photos."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clsnet.cli.allowing import AllowNetwork

if TYPE_CHECKING:
    from clsnet.photos import Tested

CLASSES = 20
OTHERS = 3
MISTAKES = 10


def test(
    model: Annotated[Path, typer.Argument(help="File of the model.")],
    folder: Annotated[
        Path, typer.Argument(help="A folder that holds one folder of photos for each class.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="HTML page to write, with the photos that were confused."),
    ] = None,
    reject: Annotated[
        float,
        typer.Option(
            min=0, max=0.99, help="As for clsnet predict; it does not change the accuracy."
        ),
    ] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    allow_network: AllowNetwork = None,
) -> None:
    """Test a model on labelled photos: accuracy, confused classes and worst mistakes.

    Use photos that the model has not learned. A photo is right if its class is the most probable
    one, rejected or not. The exit status is 1 if some photos could not be read.
    """
    from clsnet.cli.alike import grouped
    from clsnet.cli.console import PlainConsole
    from clsnet.cli.output import echo, say
    from clsnet.cli.showing import progress
    from clsnet.photos import test as test_photos
    from clsnet.photos.wording import many

    with progress(PlainConsole(stderr=True)) as report:
        tested = test_photos(
            model, folder, reject=reject, page=out, report=report, allow=allow_network or ()
        )
    for line in grouped([*tested.unreadable, *tested.warnings]):
        say(line)
    if tested.learned:
        some = f"{many(tested.learned, 'photo')} of {folder}"
        say(f"the model has learned {some}; on new photos its accuracy will be lower")
    if as_json:
        _print_json(tested)
    else:
        _print(tested)
        if out:
            echo(f"Page: {out}")
    if tested.unreadable:
        say(f"{many(len(tested.unreadable), 'photo')} could not be read.")
        raise typer.Exit(1)


def _print(tested: Tested) -> None:
    from clsnet.cli.output import echo
    from clsnet.photos.wording import many

    if tested.n:
        low, high = tested.interval
        right = f"{sum(tested.right.values()):,} of {many(tested.n, 'photo')}"
        echo(f"Accuracy: {tested.accuracy:.1%} ({right}; 95 % interval {low:.1%} to {high:.1%})")
        echo(f"Balanced accuracy: {tested.balanced_accuracy:.1%}")
        none = sum(tested.rejected.values())
        echo(f"None of these: {many(none, 'photo')} ({none / tested.n:.1%})")
        _print_classes(tested)
    else:
        echo("No folder is a class that the model knows.")
    for label, n in tested.unknown.items():
        none = tested.unknown_rejected.get(label, 0)
        near = f" (the nearest is {tested.nearest[label]})" if label in tested.nearest else ""
        found = f"{none:,} of {many(n, 'photo')} were answered 'none of these'"
        echo(f"{label} is not a class of the model{near}: {found}")
    if tested.mistakes:
        worst = tested.mistakes[:MISTAKES]
        echo()
        n = len(tested.mistakes)
        echo(f"Worst mistakes{f' ({len(worst)} of {n:,})' if n > len(worst) else ''}")
        for one in worst:
            taken = f"{one.label} taken for {one.taken_for}, {one.probability:.1%}"
            echo(f"  {one.path}: {taken}")


def _print_classes(tested: Tested) -> None:
    """Print what each class is taken for, the classes with the most mistakes first."""
    from clsnet.cli.output import echo
    from clsnet.cli.tables import print_table
    from clsnet.photos.wording import many

    figures = ["photos", "right", "none of these"]
    rows = []
    wrong = {label: n - tested.right.get(label, 0) for label, n in tested.tested.items()}
    shown = sorted(wrong, key=lambda label: (-wrong[label], label))[:CLASSES]
    confused = tested.confused
    for label in shown:
        others = [(other, n) for own, other, n in confused if own == label]
        names = [f"{other} {n:,}" for other, n in others[:OTHERS]]
        rest = sum(n for _, n in others[OTHERS:])
        rows.append(
            [
                label,
                f"{tested.tested[label]:,}",
                f"{tested.right.get(label, 0) / tested.tested[label]:.1%}",
                f"{tested.rejected.get(label, 0):,}",
                ", ".join([*names, *([f"others {rest:,}"] if rest else [])]),
            ]
        )
    print_table(["class", *figures, "taken for"], rows, figures)
    if len(wrong) > len(shown):
        more = many(len(wrong) - len(shown), "more class", "more classes")
        echo(f"and {more} with no more mistakes than these")


def _print_json(tested: Tested) -> None:
    low, high = tested.interval
    figures = {
        "photos": tested.n,
        "right": sum(tested.right.values()),
        "accuracy": tested.accuracy if tested.n else None,
        "interval": [low, high],
        "balanced_accuracy": tested.balanced_accuracy if tested.n else None,
        "none_of_these": sum(tested.rejected.values()),
        "learned": tested.learned,
        "classes": [
            {
                "class": label,
                "photos": n,
                "right": tested.right.get(label, 0),
                "none_of_these": tested.rejected.get(label, 0),
            }
            for label, n in tested.tested.items()
        ],
        "confused": [
            {"class": label, "taken_for": other, "photos": n} for label, other, n in tested.confused
        ],
        "mistakes": [
            {
                "file": str(one.path),
                "class": one.label,
                "taken_for": one.taken_for,
                "probability": one.probability,
            }
            for one in tested.mistakes
        ],
        "unknown": [
            {
                "class": label,
                "photos": n,
                "none_of_these": tested.unknown_rejected.get(label, 0),
                "nearest": tested.nearest.get(label),
            }
            for label, n in tested.unknown.items()
        ],
        "unreadable": tested.unreadable,
    }
    print(json.dumps(figures, indent=2))
