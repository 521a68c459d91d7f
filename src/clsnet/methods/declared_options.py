"""Options of a method, each declared once: name, type, default and range."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from clsnet.errors import ClsnetError

KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a word",
    bool: "True or False",
    Sequence[int]: "a list of whole numbers",
}


@dataclass(frozen=True)
class Option:
    """The default of an option and its range; `above` is a bound that it must not reach.

    A word has to be one of those in `among`.
    """

    default: Any
    least: float | None = None
    above: float | None = None
    most: float | None = None
    among: tuple[str, ...] | None = None

    def allows(self, value: Any) -> bool:
        """Whether a number lies in the range, or all numbers of a list do, or a word is known."""
        if self.among is not None:
            return value in self.among
        if isinstance(value, Sequence) and not isinstance(value, str):
            return all(self.allows(item) for item in value)
        if value is None or isinstance(value, (str, bool)):
            return True
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
        )

    def __str__(self) -> str:
        if self.among is not None:
            return " or ".join(map(repr, self.among))
        if self.least is None and self.above is None:
            return ""
        what = "numbers" if isinstance(self.default, Sequence) else "a number"
        if self.above is not None:
            return f"{what} above {self.above}"
        if self.most is not None:
            return f"{what} from {self.least} to {self.most}"
        return f"{what} of {self.least} or more"


def option(
    default: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    among: tuple[str, ...] | None = None,
) -> Any:
    """Declare an option in the body of a subclass of `DeclaredOptions`; its annotation is its type.

    A range applies to numbers, and to every number of a list.
    """
    return Option(default, least, above, most, among)


class DeclaredOptions:
    """A method whose constructor stores the options that its class and its bases declare.

    A subclass that only needs another default assigns it. Options that are another class's, which
    also checks their types, can be listed as `declared`. scikit-learn's ``clone`` works.

    Examples
    --------
    >>> class Descent(DeclaredOptions):
    ...     rate: float = option(0.1, above=0)
    ...     epochs: int = option(10, least=0)
    >>> class Short(Descent):
    ...     epochs = 1
    >>> Short(rate=0.5).get_params()
    {'rate': 0.5, 'epochs': 1}
    >>> Short(rate=0).check_parameters()
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: rate=0: use a number above 0.
    """

    declared: ClassVar[dict[str, Option]] = {}

    def __init_subclass__(cls) -> None:
        own = {name: one for name, one in vars(cls).items() if isinstance(one, Option)}
        own |= vars(cls).get("declared", {})
        cls.declared = {**super(cls, cls).declared, **own}  # type: ignore[misc]
        for name, one in own.items():
            setattr(cls, name, one.default)
        shown = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(cls, name))
            for name in cls.declared
        ]
        cls.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]

    def __init__(self, **options: Any) -> None:
        for name in options:
            if name not in self.declared:
                raise TypeError(
                    f"{type(self).__name__} got an unexpected keyword argument '{name}'"
                )
        for name in self.declared:
            setattr(self, name, options.get(name, getattr(type(self), name)))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all options by name."""
        return {name: getattr(self, name) for name in self.declared}

    def check_parameters(self) -> None:
        """Raise an error if an option is not of its type or out of its range."""
        hints = typing.get_type_hints(type(self))
        for name, value in self.get_params().items():
            hint = hints.get(name, Any)
            if not fits(value, hint):
                kind = KINDS.get(hint, getattr(hint, "__name__", hint))
                raise ClsnetError(f"{name}={value!r} is not {kind}.")
            if not self.declared[name].allows(value):
                raise ClsnetError(f"{name}={value!r}: use {self.declared[name]}.")


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; what is no plain type is taken on trust.

    Examples
    --------
    >>> fits(3, float), fits(0.5, int), fits(True, int), fits(None, int | None)
    (True, False, False, True)
    >>> fits((8, 8), Sequence[int]), fits("ab", Sequence[int]), fits((8, "a"), Sequence[int])
    (True, False, False)
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, each) for each in arguments)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Sequence):
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        return listed and all(fits(item, each) for item in value for each in arguments[:1])
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return isinstance(value, hint) if isinstance(hint, type) and hint is not Any else True
