"""Options of methods, checked before anything is learned."""

from __future__ import annotations

import difflib
import inspect
import typing
from collections.abc import Callable
from typing import Any

from clsnet.errors import ClsnetError
from clsnet.methods.declared_options import KINDS, fits
from clsnet.methods.learner import SelfChecking
from clsnet.methods.registry import Method

# Arguments of methods for which `clsnet bench` has options of its own.
NO_OPTIONS = {"seed": "--seed", "random_state": "--seed", "preset": "--preset"}
OF_THE_COMMAND = (*NO_OPTIONS, "backbone", "cache")


def check_options(method: Method, options: dict[str, Any], preset: str | None = None) -> None:
    """Refuse a method with missing imports, an option that it does not have, and a bad value.

    A value is bad if it does not have the type that the constructor names, or if the learner
    refuses it, in its constructor or in `check_parameters`.

    Examples
    --------
    >>> from clsnet.methods import get_method
    >>> check_options(get_method("ncm"), {"shrinkage": 10})
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: the method 'ncm' has no option 'shrinkage'. See: clsnet methods ncm
    >>> check_options(get_method("slda"), {"shrinkage": "much"})
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: the method 'slda': shrinkage='much' is not a number.
    """
    hints = _hints(method.load())
    for name, value in options.items():
        if name in NO_OPTIONS:
            said = f"{name}={value!r}: use {NO_OPTIONS[name]}."
            raise ClsnetError(f"the method {method.name!r}: {said}")
        try:
            method.build(0, **{name: value})
        except TypeError as error:
            if f"unexpected keyword argument '{name}'" in str(error):
                raise ClsnetError(_no_option(method, name)) from None
            wrong: str | None = f": {error}"
        except ValueError:
            wrong = None  # another option may make it right
        else:
            wrong = None
        if name in hints and not fits(value, hints[name]):
            wrong = f" is not {KINDS.get(hints[name], hints[name])}"
        if wrong:
            raise ClsnetError(f"the method {method.name!r}: {name}={value!r}{wrong}")
    try:
        learner = method.build(0, preset, **options)
        if isinstance(learner, SelfChecking):
            learner.check_parameters()
    except (TypeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ClsnetError(f"the method {method.name!r}: {reason}") from None


def known_options(method: Method) -> dict[str, Any]:
    """Return the options that ``clsnet bench --option`` can set, each with its default.

    Those that the command has options of its own for are left out, such as the seed.

    Examples
    --------
    >>> from clsnet.methods import get_method
    >>> known_options(get_method("slda"))["shrinkage"]
    1e-06
    """
    learner: Any = method.build()
    if hasattr(learner, "get_params"):
        found: dict[str, Any] = learner.get_params(deep=False)
    else:
        arguments = inspect.signature(method.load()).parameters.values()
        found = {one.name: one.default for one in arguments if one.default is not one.empty}
    return {name: default for name, default in found.items() if name not in OF_THE_COMMAND}


def _no_option(method: Method, name: str) -> str:
    near = difflib.get_close_matches(name, known_options(method), n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    who = f"the method {method.name!r}"
    return f"{who} has no option {name!r}{meant} See: clsnet methods {method.name}"


def _hints(maker: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of all arguments, also of those that a class hands on to its bases."""
    bases = [vars(base) for base in inspect.getmro(maker)] if isinstance(maker, type) else []
    makers = [found["__init__"] for found in bases if "__init__" in found] or [maker]
    found: dict[str, Any] = {}
    for one in reversed(makers):
        try:
            hints = typing.get_type_hints(one)
        except (NameError, TypeError):  # of another package, or only known to a type checker
            continue
        named = (p for p in inspect.signature(one).parameters.values() if p.kind != p.VAR_KEYWORD)
        found |= {p.name: hints[p.name] for p in named if p.name in hints}
    return found
