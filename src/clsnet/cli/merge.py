"""``clsnet merge``: merge models into one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from clsnet.cli.allowing import AllowNetwork
from clsnet.errors import ClsnetError


def merge(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL MODEL...", help="Files of two or more models, or of sums (Sums.save)."
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="File to write.")],
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL:OLD=NEW",
            help="Rename a class of one of the models first. May be repeated.",
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Allow the output file to exist; clsnet undo restores it."
        ),
    ] = False,
    allow_network: AllowNetwork = None,
) -> None:
    """Merge models into one, as if it had learned the photos of all of them.

    No photo is needed. Classes of the same name become one. The models must have the same network
    and settings. Photos that two models learned count once, if one of the two learned no other
    photos of that class. Files of sums are added up; a model given with them learns them.
    """
    from clsnet.cli.alike import grouped
    from clsnet.cli.output import echo, say
    from clsnet.photos import merge as merge_models
    from clsnet.photos.wording import many

    if _are_sums(models):
        _merge_sums(models, out, overwrite, rename or (), allow_network or ())
        return
    names = _names(rename or [], models)
    done = merge_models(
        models, out, rename=names, overwrite=overwrite, say=say, allow=allow_network or ()
    )
    for line in grouped(done.warnings):
        say(line)
    for label, n in sorted(done.counts.items()):
        echo(f"  {label}: {many(n, 'photo')}")
    total = many(sum(done.counts.values()), "photo")
    echo(f"Merged {len(models)} models: {total} of {many(len(done.counts), 'class')}.")
    if done.shared:
        echo(f"{many(done.shared, 'photo')} learned by several of them; counted once.")
    echo(f"Model: {out}")


def _are_sums(files: Sequence[Path]) -> bool:
    """Whether one of the files holds sums."""
    from clsnet.storage.model_file import SUMS, form_of

    return any(form_of(file) is SUMS for file in files if file.is_file())


def _merge_sums(
    files: Sequence[Path], out: Path, overwrite: bool, rename: Sequence[str], allow: Sequence[str]
) -> None:
    from clsnet.cli.output import echo
    from clsnet.estimator.merging import merge_sums

    if rename:
        raise ClsnetError("--rename is for models, not for sums.")
    if out.exists() and not overwrite:
        raise ClsnetError(f"{out} exists already; choose another name, or add --overwrite.")
    for line in merge_sums(files, out, allow):
        echo(line)


def _names(rename: Sequence[str], models: Sequence[Path]) -> dict[str, dict[str, str]]:
    """Return the new names of classes, by the models that they are for."""
    found: dict[str, dict[str, str]] = {}
    for text in rename:
        ends = [i for i, sign in enumerate(text) if sign == ":" and Path(text[:i]) in models]
        model, rest = (text[: ends[-1]], text[ends[-1] + 1 :]) if ends else ("", "")
        old, equals, new = rest.partition("=")
        if not equals or not old:
            raise ClsnetError(
                f"--rename {text}: write MODEL:OLD=NEW, with MODEL as it is named before."
            )
        found.setdefault(model, {})[old] = new
    return found
