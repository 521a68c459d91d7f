"""Every method that can be benchmarked, by name."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clsnet.descriptions import find_descriptions
from clsnet.errors import ClsnetError
from clsnet.extras import needed

if TYPE_CHECKING:
    from clsnet.methods.learner import Learner

PACKAGES = ("clsnet.methods", "clsnet.pretraining")
GROUP = "clsnet.methods"


@dataclass(frozen=True)
class Method:
    """The description of a method: literals only, so that it can be listed without importing it.

    A module of `clsnet.methods` assigns it to ``METHOD``. Another package names its own in the
    entry point group ``clsnet.methods``.

    Parameters
    ----------
    name
        Its name on the command line.
    module
        ``__name__``: the module that holds the learner.
    learner
        Name in that module of the class, or function, that makes a learner. It takes a seed, the
        options, and where `presets` is true a preset.
    family
        Group in tables.
    keeps
        What it stores of old tasks.
    reference
        Where it was published.
    paper
        Its name in the paper's tables, if it is there.
    variant
        How it differs from the published method, for tables.
    grid
        Values that ``--tune`` tries, by option.
    presets, backbones
        Whether it uses ``--preset``, and ``--backbone`` with ``--cache``.
    needs
        The backbone that it requires, as given to ``--backbone``.
    finetunes
        Whether it trains the backbone, whose outputs then cannot be kept in a ``--cache``.
    tunable
        Whether ``form="tuned"`` makes it train the backbone.
    without
        Options that switch off its protection of old tasks, with which `clsnet.checks` compares it.
        None if there is nothing to switch off.

    Examples
    --------
    >>> method = get_method("ncm")
    >>> method.family
    'analytic'
    >>> type(method.build(seed=0)).__name__
    'NCM'
    """

    name: str
    module: str
    learner: str
    family: str
    keeps: str
    reference: str
    paper: str | None = None
    variant: str | None = None
    grid: dict[str, list[Any]] = field(default_factory=dict)
    presets: bool = False
    backbones: bool = False
    needs: str | None = None
    finetunes: bool = False
    tunable: bool = False
    without: dict[str, Any] | None = None

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms it can take: on ``"pixels"``, a ``"frozen"`` backbone, or a ``"tuned"`` one.

        Examples
        --------
        >>> get_method("none").forms
        ('pixels', 'frozen', 'tuned')
        """
        if self.finetunes:
            return ("tuned",)
        frozen = ("frozen",) if self.backbones else ()
        return ("pixels", *frozen, *(("tuned",) if self.tunable else ()))

    def build(self, seed: int = 0, preset: str | None = None, **options: Any) -> Learner:
        """Import the method and return a learner that has learned nothing."""
        given = {"preset": preset} if self.presets else {}
        return self.load()(seed=seed, **given, **options)

    def load(self) -> Callable[..., Learner]:
        """Import the method and return what makes its learners."""
        try:
            module = importlib.import_module(self.module)
        except ModuleNotFoundError as error:
            if error.name == "torch":
                needed("torch", f"the method {self.name!r}", "torch")
            raise
        if self.learner not in vars(module):
            raise ClsnetError(f"the method {self.name!r}: {self.module} has no {self.learner}.")
        maker: Callable[..., Learner] = vars(module)[self.learner]
        return maker


def methods() -> dict[str, Method]:
    """Return all methods by name, including those of other packages. None is imported.

    Examples
    --------
    >>> methods()["clsnet-paper"].family
    'ours'
    """
    found = find_descriptions(Method, "METHOD", PACKAGES, GROUP)
    return {name: found[name] for name in sorted(found)}


def get_method(name: str) -> Method:
    """Return the method of that name; an error names the nearest one."""
    known = methods()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
        raise ClsnetError(f"unknown method {name!r}; did you mean {near!r}? See: clsnet methods")
    return known[name]
