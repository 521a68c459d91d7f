"""Class names as people type them."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Collection

from clsnet.errors import ClsnetError
from clsnet.photos.wording import listed

MOST = 10  # names in a message


class UnknownClass(ClsnetError):
    """There is no class of that name; `nearest` is the class with the most similar name, or ""."""

    def __init__(self, message: str, nearest: str) -> None:
        super().__init__(message)
        self.nearest = nearest


def known_class(
    name: str, classes: Collection[str], advice: str = "", who: object = "this model"
) -> str:
    """Return the class of that name, or raise an error that names the nearest class or all classes.

    Parameters
    ----------
    name
        As it was typed; accents may be encoded in any way.
    classes
        The classes there are.
    advice
        Further advice, added to the end of the message.
    who
        Who knows these classes; named in the message.

    Examples
    --------
    >>> known_class("ships", ["plane", "ship"])
    Traceback (most recent call last):
    ...
    clsnet.photos.class_names.UnknownClass: class 'ships' is not known to this model; the nearest \
is 'ship'.
    """
    for form in (name, normal(name)):
        if form in classes:
            return form
    near = nearest_class(name, classes)
    there = f", which knows {listed(sorted(classes), MOST)}" if classes else ""
    nearest = f"; the nearest is {near!r}" if near else there
    raise UnknownClass(f"class {name!r} is not known to {who}{nearest}{advice}.", near)


def nearest_class(name: str, classes: Collection[str], alike: float = 0.5) -> str:
    """Return the class whose name is most similar, or None if none is similar.

    Parameters
    ----------
    name
        The other name.
    classes
        The classes there are.
    alike
        The share of letters that must agree.

    Examples
    --------
    >>> nearest_class("Ships", ["plane", "ship"]), nearest_class("bird", ["plane", "ship"])
    ('ship', '')
    """
    folded = {one.casefold(): one for one in sorted(classes)}
    near = difflib.get_close_matches(normal(name).casefold(), folded, n=1, cutoff=alike)
    return folded[near[0]] if near else ""


def new_class(name: str) -> str:
    """Return the name of a new class, or refuse it.

    Examples
    --------
    >>> new_class(" ")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: ' ' cannot be the name of a class.
    """
    if not name.strip() or "\0" in name:
        raise ClsnetError(f"{name!r} cannot be the name of a class.")
    return normal(name)


def normal(name: str) -> str:
    """Return a name with its accents encoded as in the names of folders.

    Examples
    --------
    >>> len("e" + chr(0x301)), len(normal("e" + chr(0x301)))
    (2, 1)
    """
    return unicodedata.normalize("NFC", name)
