"""Take back the last change of a model."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.header import read
from clsnet.photos.record import Change, Record
from clsnet.photos.versions import changing, swap, version_before


@dataclass(frozen=True)
class Undone:
    """What was undone or, the second time, done again.

    Attributes
    ----------
    change
        The learning or forgetting.
    again
        Whether it was done again.
    classes
        Classes known now.
    """

    change: Change
    again: bool
    classes: list[str]


def undo(model: str | os.PathLike[str], *, say: Callable[[str], None] | None = None) -> Undone:
    """Undo the last `learn` or `forget`; the second time, do it again.

    Parameters
    ----------
    model
        The file of the model.
    say
        Told when another process has to be waited for.

    Examples
    --------
    >>> from clsnet.photos import undo
    >>> undo("/tmp/there-is-none.clsnet")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: there is no model /tmp/there-is-none.clsnet.
    """
    if not Path(model).expanduser().exists():
        raise ClsnetError(f"there is no model {model}.")
    with changing(Path(model), say) as path:
        before = version_before(path)
        if not before.exists():
            raise ClsnetError(
                f"there is nothing to undo: {model} was learned once, and {before.name} is not "
                "there; delete the model to start anew."
            )
        headers = [read(file)[0] for file in (path, before)]
        now, then = (Record.of(header.get("notes", {})).history for header in headers)
        if not now or not then:
            raise ClsnetError(f"{model} or {before.name} was not made by clsnet learn.")
        swap(path)
        again = len(then) > len(now)
        change = then[-1] if again else now[-1]
        return Undone(change, again, headers[1]["labels"])
