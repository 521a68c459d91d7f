"""Graceful forgetting: what the other tasks gain if task 1, task 2 or both are forgotten."""

from __future__ import annotations

from clsnet.evaluation.protocol import AGNOSTIC, DEMO
from clsnet.experiments.answer import Answer
from clsnet.experiments.found import Found
from clsnet.experiments.needs import ORDERS, Measurement, Needed, Needs
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import METHOD, place, released
from clsnet.experiments.short_term import VARIANTS, answered, control_of

# R in percent after each task, None for a forgotten one, and the means over remaining tasks.
PRINTED = {
    "LTM": (
        (
            (96.25,),
            (91.75, 96.20),
            (92.20, 88.65, 98.70),
            (92.00, 84.10, 95.45, 95.80),
            (98.25, 78.00, 96.30, 96.35, 96.00),
        ),
        (96.25, 93.98, 93.18, 91.84, 91.05),
    ),
    "STM: task 1": (
        (
            (96.25,),
            (None, 98.50),
            (None, 91.05, 99.60),
            (None, 93.40, 97.05, 99.05),
            (None, 90.70, 95.30, 96.10, 97.10),
        ),
        (96.25, 98.50, 95.34, 96.50, 94.80),
    ),
    "STM: task 2": (
        (
            (96.25,),
            (91.75, 96.20),
            (91.00, None, 99.55),
            (92.35, None, 97.55, 98.55),
            (89.95, None, 95.25, 97.05, 96.90),
        ),
        (96.25, 93.98, 95.28, 96.25, 94.78),
    ),
    "STM: tasks 1 and 2": (
        (
            (96.25,),
            (None, 98.50),
            (None, None, 96.65),
            (None, None, 98.15, 99.45),
            (None, None, 95.10, 97.05, 97.80),
        ),
        (96.25, 98.50, 96.65, 98.80, 96.65),
    ),
}


def needs(quick: bool) -> Needs:
    """Return the release with each kind of memory, honest and leaking, and a control."""
    runs = [_runs(variant, quick, p) for p in (AGNOSTIC, DEMO) for variant in VARIANTS]
    return Needs(runs, [_control(quick)])


def answer(found: Found) -> Answer:
    """Compare the kinds of memory with each other and with the control."""
    honest, leaking = (
        {variant: found.get(_runs(variant, found.quick, p)) for variant in VARIANTS}
        for p in (AGNOSTIC, DEMO)
    )
    control = found.values(_control(found.quick))
    return answered(place(found.quick), honest, leaking, control, PRINTED)


def _runs(variant: str, quick: bool, protocol: str = AGNOSTIC) -> Needed:
    tasks = VARIANTS[variant]
    return released(quick, protocol, **({"short_term": tasks} if tasks else {}))


def _control(quick: bool) -> Measurement:
    return control_of(place(quick), METHOD, 1 if quick else ORDERS)


EXPERIMENT = Experiment(
    number=9,
    name="forgetting",
    module=__name__,
    title="Graceful forgetting on FashionMNIST-10/5",
    place="Table VIII",
    claim="Forgetting early tasks helps the others: 91.84 % after four tasks with long-term "
    "memory, 96.50 % if task 1 is forgotten; 91.05 % and 94.80 % after five. The more tasks are "
    "forgotten, the better the rest.",
)
