"""Every experiment that can be reproduced, by name."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from clsnet.descriptions import find_descriptions
from clsnet.errors import ClsnetError

if TYPE_CHECKING:
    from clsnet.experiments.answer import Answer
    from clsnet.experiments.found import Found
    from clsnet.experiments.needs import Needs

PACKAGES = ("clsnet.experiments",)
GROUP = "clsnet.experiments"
ALL = "all"


class Study(Protocol):
    """What the module of an experiment holds."""

    def needs(self, quick: bool) -> Needs:
        """Return the runs and other measurements that are needed; fewer if quick."""

    def answer(self, found: Found) -> Answer:
        """Return whether the claim holds, given what was found."""


@dataclass(frozen=True)
class Experiment:
    """The description of an experiment: literals only, so that it is listed without importing it.

    A module of `clsnet.experiments` assigns it to ``EXPERIMENT``.

    Parameters
    ----------
    number
        Its place on the page.
    name
        As on the command line.
    module
        ``__name__``: the module that holds its two functions.
    title
        The title of its section.
    place
        The table or figure of the paper, or "ours" for what the paper does not have.
    claim
        The paper's claim (or ours, if the experiment is ours), in our words.

    Examples
    --------
    >>> experiment = find_experiment("terms")
    >>> experiment.number, experiment.title
    (6, 'Terms of the objective')
    """

    number: int
    name: str
    module: str
    title: str
    place: str
    claim: str

    def load(self) -> Study:
        """Import the experiment."""
        return cast(Study, importlib.import_module(self.module))


def experiments() -> list[Experiment]:
    """Return all experiments in the order of the page. None of them is imported.

    Examples
    --------
    >>> [experiment.name for experiment in experiments()][:3]
    ['fashion-mnist', 'cifar', 'imagenet']
    """
    found = find_descriptions(Experiment, "EXPERIMENT", PACKAGES, GROUP)
    return sorted(found.values(), key=lambda experiment: experiment.number)


def find_experiment(name: str) -> Experiment:
    """Return the experiment of that name, or name the nearest one."""
    known = {experiment.name: experiment for experiment in experiments()}
    if name not in known:
        near = difflib.get_close_matches(name, [*known, ALL], n=1, cutoff=0.0)[0]
        raise ClsnetError(
            f"unknown experiment {name!r}; did you mean {near!r}? See: clsnet reproduce"
        )
    return known[name]


def chosen(names: list[str]) -> list[Experiment]:
    """Return experiments by their names, in the order of the page; "all" is every one."""
    if ALL in names:
        return experiments()
    found = {find_experiment(name) for name in names}
    return sorted(found, key=lambda experiment: experiment.number)
