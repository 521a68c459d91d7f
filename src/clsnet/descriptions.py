"""Descriptions of methods and data sets, read from their source without importing it.

A module describes what it offers by one assignment of literals, such as
``METHOD = Method(name="ewc", module=__name__, ...)``. Listing fifty methods then means reading
fifty small files, and imports nothing that they need.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import pkgutil
import warnings
from collections.abc import Hashable
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar, cast

from clsnet.errors import ClsnetError

Kind = TypeVar("Kind")


def find_descriptions(
    kind: type[Kind], constant: str, packages: tuple[str, ...], group: str
) -> dict[str, Kind]:
    """Return every description by name: our own, then those of other packages.

    Parameters
    ----------
    kind
        Class of the descriptions; it has a `name`.
    constant
        What a description is called in our own modules.
    packages
        Packages whose modules are searched.
    group
        Entry points of other packages: ``name = "package.module:CONSTANT"``. A name that is
        already taken is ignored; a description that cannot be read is left out with a warning.
    """
    found: dict[str, Kind] = dict(_ours(cast(Hashable, kind), constant, packages))
    for point in entry_points(group=group):
        if point.name in found:
            continue
        try:
            found[point.name] = _of_another_package(kind, point)
        except ClsnetError as error:
            warnings.warn(f"{error}; it is left out.", stacklevel=2)
    return found


@functools.cache
def _ours(kind: Any, constant: str, packages: tuple[str, ...]) -> dict[str, Any]:
    found = {}
    for package in packages:
        for module in pkgutil.iter_modules(_spec(package).submodule_search_locations):
            description = _read(kind, f"{package}.{module.name}", constant)
            if description is not None:
                found[vars(description)["name"]] = description
    return found


def _read(kind: type[Kind], module: str, constant: str) -> Kind | None:
    """Return the description that a module's source assigns, or None if there is none."""
    _, assigned, rest = _source(module).partition(f"\n{constant} = ")
    if not assigned:
        return None
    statement = ast.parse(rest).body[0]  # to parse what stands above would take most of the time
    return kind(**_literals(statement, kind.__name__, module))


def _of_another_package(kind: type[Kind], point: EntryPoint) -> Kind:
    try:
        description = _read(kind, point.module, point.attr)
    except (ImportError, ValueError, SyntaxError, TypeError):
        description = None
    if description is not None:
        return description
    try:
        loaded = point.load()
    except Exception as error:
        raise ClsnetError(f"{point.group} {point.name!r} ({point.value}) fails: {error}") from None
    if not isinstance(loaded, kind):
        raise ClsnetError(f"{point.group} {point.name!r} ({point.value}) is not a {kind.__name__}")
    return loaded


def _source(module: str) -> str:
    loader: Any = _spec(module).loader
    source: str | None = loader.get_source(module)
    if source is None:
        raise ImportError(f"{module} has no source")
    return source


def _spec(module: str) -> ModuleSpec:
    """Find a module without importing the packages above it."""
    first, *others = module.split(".")
    spec, name = importlib.util.find_spec(first), first
    for part in others:
        name = f"{name}.{part}"
        spec = spec and PathFinder.find_spec(name, spec.submodule_search_locations or [])
    if spec is None:
        raise ImportError(f"there is no module {module}")
    return spec


def _literals(statement: ast.stmt, function: str, module: str) -> dict[str, Any]:
    """Return the keyword arguments of a call; each is a literal, or ``__name__``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not _is_name(call.func, function) or call.args:
        raise ValueError(f"{module} is not described by literals in {function}(name=...)")
    return {
        str(keyword.arg): module
        if _is_name(keyword.value, "__name__")
        else ast.literal_eval(keyword.value)
        for keyword in call.keywords
    }


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
