"""The second data set: CIFAR-100 with a frozen network, or Tiny-ImageNet in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clsnet.evaluation.summaries import Summary
from clsnet.experiments.found import network_name
from clsnet.experiments.needs import SEEDS, Needed

NETWORK = "resnet18"
GAMMA, RIDGE = 1e6, 0.01  # chosen on held-out training data of one seed of TinyImageNet-100/10


def places(n_tasks: int) -> tuple[str, str]:
    """Return the paper's sequence and what stands in for it.

    Examples
    --------
    >>> places(10)
    ('CIFAR-100/10', 'TinyImageNet-100/10')
    """
    return f"CIFAR-100/{n_tasks}", f"TinyImageNet-100/{n_tasks}"


def on_network(needed: Needed, n_tasks: int) -> Needed:
    """Return the same runs on the second data set: one order for each of three networks."""
    return replace(
        needed, sequences=places(n_tasks), orders=1, seeds=SEEDS, network=needed.network or NETWORK
    )


def paper_rule(**options: Any) -> Needed:
    """Return runs of the paper's text; its sequence is still to be given."""
    return Needed((), "clsnet-paper", {"gamma": GAMMA, "ridge": RIDGE, **options})


def on_one_network(summaries: Sequence[Summary]) -> list[Summary]:
    """Return those that share a network, of which only these compare; the one of most methods."""
    groups: dict[str, list[Summary]] = {}
    for summary in summaries:
        groups.setdefault(network_name(summary), []).append(summary)

    def size(group: list[Summary]) -> tuple[int, int]:
        return len({one.method for one in group}), sum(len(one.runs) for one in group)

    return max(groups.values(), key=size, default=[])
