"""``clsnet info``: describe a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def info(
    model: Annotated[Path, typer.Argument(help="File of the model.")],
    as_card: Annotated[
        bool, typer.Option("--card", help="Print a model card in Markdown, to share with the file.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the model card as JSON.")] = False,
) -> None:
    """Show what a model knows, what its file contains in bytes, and what that reveals.

    It also names files beside the model that hold older versions of it. A model card says what the
    model knows, how well, on what evidence, and what it cannot tell.
    """
    if as_card or as_json:
        _print_card(model, as_json)
    else:
        _print_info(model)


def _print_card(model: Path, as_json: bool) -> None:
    import json

    from clsnet.cli.output import echo
    from clsnet.photos.card import card

    found = card(model)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=2))
        return
    for line in found.as_markdown().splitlines():
        echo(line)


def _print_info(model: Path) -> None:
    from clsnet.cli.output import echo
    from clsnet.cli.showing import told_expectation
    from clsnet.photos import info as about
    from clsnet.photos.telling import told_change
    from clsnet.photos.wording import many

    known = about(model)
    echo(f"{model}: {many(len(known.counts), 'class')}, {known.size:,} bytes")
    echo(f"Photos are represented by {known.features:,} features of {known.backbone}.")
    if known.self_contained:
        echo("The file is self-contained: all weights are in it.")
    else:
        echo("The file refers to that network: its weights are not in it.")
    echo()
    if known.counts:
        echo("Classes")
        for label, n in known.counts.items():
            echo(f"  {label}: {many(n, 'photo')}")
        for line in told_expectation(known.expectation, known.counts, known.keep, most=None):
            echo(line)
        echo()
    if known.history:
        echo("History")
        for change in known.history:
            echo(f"  {change.date}: {told_change(change)}")
        echo()
    echo("The file keeps")
    for kind, size in known.kept.items():
        echo(f"  {size:>14,} bytes  {kind}")
    echo()
    echo("What could be inferred from it")
    for line in known.inferable:
        echo(f"  {line}")
    if known.beside:
        echo()
        echo("Beside it (clsnet forget --purge removes these files)")
        for path in known.beside:
            what = "the version before the last change" if path.suffix == ".undo" else "unfinished"
            echo(f"  {path}: {what}")
