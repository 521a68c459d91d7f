"""Graceful forgetting on the second data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from clsnet.experiments.answer import Answer
from clsnet.experiments.found import Found
from clsnet.experiments.needs import ORDERS, Measurement, Needed, Needs
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import DIGITS, METHOD
from clsnet.experiments.second import on_network, paper_rule, places
from clsnet.experiments.short_term import VARIANTS, answered, control_of

# R in percent after each task, None for a forgotten one, and the means over remaining tasks.
PRINTED = {
    "LTM": (
        (
            (86.25,),
            (82.25, 81.40),
            (79.90, 78.40, 84.20),
            (79.50, 76.75, 80.65, 83.80),
            (77.35, 76.95, 79.90, 75.55, 84.95),
        ),
        (86.25, 81.83, 80.83, 80.18, 78.94),
    ),
    "STM: task 1": (
        (
            (86.25,),
            (None, 82.40),
            (None, 78.20, 84.05),
            (None, 77.10, 81.10, 84.15),
            (None, 77.35, 80.55, 77.55, 85.55),
        ),
        (86.25, 82.40, 81.13, 80.78, 80.25),
    ),
    "STM: task 2": (
        (
            (86.25,),
            (82.25, 81.40),
            (80.90, None, 84.60),
            (79.95, None, 81.25, 84.25),
            (77.50, None, 80.90, 75.15, 84.25),
        ),
        (86.25, 81.83, 82.75, 81.82, 79.43),
    ),
    "STM: tasks 1 and 2": (
        (
            (86.25,),
            (None, 82.40),
            (None, None, 85.00),
            (None, None, 81.40, 84.65),
            (None, None, 81.25, 80.10, 85.50),
        ),
        (86.25, 82.40, 85.00, 83.02, 82.28),
    ),
}


def needs(quick: bool) -> Needs:
    """Return the paper's rule on a network with each kind of memory, and the release on Digits."""
    small = [_small(variant, quick) for variant in VARIANTS]
    runs = small if quick else [*map(_networked, VARIANTS), *small]
    return Needs(runs, [_control(quick)])


def answer(found: Found) -> Answer:
    """Compare the kinds of memory, on Digits where there are no runs on a network."""
    large = {variant: found.get(_networked(variant)) for variant in VARIANTS}
    kept = large["LTM"]
    if kept and len([summary for summary in large.values() if summary]) > 1:
        return answered(kept.sequence, large, {}, None, PRINTED)
    small = {variant: found.get(_small(variant, found.quick)) for variant in VARIANTS}
    made = answered(DIGITS, small, {}, found.values(_control(found.quick)), PRINTED)
    missing = f"There are no runs on {' or '.join(places(5))}, so these are of {DIGITS}."
    return replace(made, why=f"{missing} {made.why}")


def _options(variant: str) -> Mapping[str, tuple[int, ...]]:
    return {"short_term": VARIANTS[variant]} if VARIANTS[variant] else {}


def _networked(variant: str) -> Needed:
    return on_network(paper_rule(**_options(variant)), 5)


def _small(variant: str, quick: bool) -> Needed:
    return Needed((DIGITS,), METHOD, _options(variant), orders=1 if quick else ORDERS)


def _control(quick: bool) -> Measurement:
    return control_of(DIGITS, METHOD, 1 if quick else ORDERS)


EXPERIMENT = Experiment(
    number=10,
    name="forgetting-2",
    module=__name__,
    title="Graceful forgetting on the second data set",
    place="Table IX",
    claim="As on FashionMNIST-10/5: 78.94 % after five tasks of CIFAR-100 with long-term memory, "
    "80.25 % if task 1 is forgotten, 82.28 % if tasks 1 and 2 are.",
)
