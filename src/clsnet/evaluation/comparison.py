"""Is one method more accurate than another? The difference, with its interval."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from clsnet.evaluation.answers import Answers

LEVEL = 0.95
AHEAD, BEHIND = "ahead", "behind"
Runs = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Comparison:
    """How much more accurate one method is than another.

    Attributes
    ----------
    difference
        In accuracy on all test samples after the last task, averaged over seeds.
    margin
        Half the width of the 95 % interval around it. None if there is only one test sample, or
        if no seed has several orders of a method that depends on the order of tasks.
    by_seed
        The difference of each seed.
    """

    difference: float
    margin: float | None
    by_seed: dict[int, float]

    @property
    def verdict(self) -> str:
        """``"ahead"`` or ``"behind"`` if the interval says so, else nothing."""
        if self.margin is None or abs(self.difference) <= self.margin:
            return ""
        return AHEAD if self.difference > 0 else BEHIND


def compare(runs: Runs, others: Runs) -> Comparison | None:
    """Compare the runs of one method with those of another; None if no seed has both.

    For each seed, only runs on the same test samples and, if both methods have one, with the same
    frozen network are compared.

    For seed s and test sample i let d_si be the share of orders in which the first method is
    right about the sample, less that of the second. With d_s the mean over the n_s samples, the
    difference is the mean of d_s over the S seeds. Its variance has two parts. The samples are a
    draw from all samples there could be, and a sample that several seeds test counts as one:

        V = N/(N - 1) sum_i u_i^2,  u_i = sum_s (d_si - d_s) / (S n_s),  N distinct samples;

    for one seed this is the variance of d_si over n_s. The orders are a draw from all orders:

        W = v/S^2 sum_s 1/m_s,  v = sum_so (a_so - a_s)^2 / sum_s (m_s - 1)

    with m_s orders, a_so the difference in accuracy in order o and a_s its mean; v is pooled over
    seeds, so a seed may have a single order. Where the two methods were not run in the same orders,
    the terms of both are added. A method whose answers do not depend on the order adds nothing, and
    one order of it is enough. The interval is t sqrt(V + W) to either side, where t is the quantile
    of Student's distribution for the degrees of freedom of V + W by Welch and Satterthwaite; for V
    alone it is about 1.96. Seeds are not a draw: the interval is about these networks and these
    classes, not about others.

    Parameters
    ----------
    runs, others
        Runs as read from result files.

    Examples
    --------
    >>> def run(right):
    ...     tested = np.ones(len(right), dtype=bool)
    ...     packed = Answers(tested, np.array(right, dtype=bool), "4d1a").packed()
    ...     return {"seed": 0, "order": [[0, 1]], "R": [[0.5]], "answers": packed}
    >>> found = compare([run(100 * [1, 1, 1, 0])], [run(100 * [1, 1, 0, 0])])
    >>> print(f"{found.difference} ± {found.margin:.4f}, {found.verdict}")
    0.25 ± 0.0426, ahead
    """
    pairs = {seed: _pair(_of_seed(runs, seed), _of_seed(others, seed)) for seed in _seeds(runs)}
    found = {seed: pair for seed, pair in pairs.items() if pair is not None}
    if not found:
        return None
    shares: dict[str, np.ndarray] = {}  # u, by test set
    by_seed = {}
    for seed, pair in found.items():
        difference = pair.mine.mean(axis=0) - pair.theirs.mean(axis=0)
        by_seed[seed] = float(difference.mean())
        u = shares.setdefault(pair.labels, np.full(len(pair.tested), np.nan))
        share = (difference - by_seed[seed]) / (len(found) * len(difference))
        u[pair.tested] = np.nan_to_num(u[pair.tested]) + share
    return Comparison(
        float(np.mean(list(by_seed.values()))),
        _margin(np.concatenate(list(shares.values())), list(found.values())),
        by_seed,
    )


@dataclass(frozen=True)
class _Pair:
    """Two methods and one seed: rows are orders, columns the samples that were tested.

    Attributes
    ----------
    over_orders
        Accuracies in each order of a method that depends on it, and their differences where both
        do and were run in the same orders.
    """

    mine: np.ndarray
    theirs: np.ndarray
    over_orders: dict[str, np.ndarray]
    tested: np.ndarray
    labels: str

    @property
    def terms(self) -> list[str]:
        """What varies with orders: the difference, or else both."""
        return ["difference"] if "difference" in self.over_orders else list(self.over_orders)


def _margin(shares: np.ndarray, pairs: list[_Pair]) -> float | None:
    u = shares[~np.isnan(shares)]
    if len(u) == 1:
        return None
    variances, freedom = [len(u) / (len(u) - 1) * float(u @ u)], [len(u) - 1]
    for whose in ("mine", "theirs", "difference"):
        parts = [pair.over_orders[whose] for pair in pairs if whose in pair.over_orders]
        used = [1 / len(pair.over_orders[whose]) for pair in pairs if whose in pair.terms]
        known = sum(len(part) - 1 for part in parts)
        if used and not known:
            return None
        if used:
            pooled = sum(len(part) * float(part.var()) for part in parts) / known
            variances.append(pooled * sum(used) / len(pairs) ** 2)
            freedom.append(known)
    total = sum(variances)
    if total == 0:
        return 0.0
    welch = total**2 / sum(v**2 / f for v, f in zip(variances, freedom, strict=True))
    return float(stdtrit(welch, (1 + LEVEL) / 2) * total**0.5)


def _seeds(runs: Runs) -> list[int]:
    return sorted({run["seed"] for run in runs})


def _of_seed(runs: Runs, seed: int) -> list[dict[str, Any]]:
    found = [run for run in runs if run["seed"] == seed]
    return sorted(found, key=lambda run: json.dumps(run["order"]))


def _pair(runs: Runs, others: Runs) -> _Pair | None:
    """Return the answers of two methods with one seed, or None if they cannot be compared."""
    both = [*runs, *others]
    if not runs or not others or not all("answers" in run for run in both):
        return None
    if len({run["network"] for run in both if run.get("network")}) > 1:
        return None
    answers = [Answers.unpacked(run["answers"]) for run in both]
    first = answers[0]
    if len({run.get("folder") for run in both}) > 1 or not all(map(first.same_test, answers)):
        return None
    right = np.array([each.right[first.tested] for each in answers], dtype=float)
    mine, theirs = right[: len(runs)], right[len(runs) :]
    return _Pair(mine, theirs, _over_orders(runs, others, mine, theirs), first.tested, first.labels)


def _over_orders(
    runs: Runs, others: Runs, mine: np.ndarray, theirs: np.ndarray
) -> dict[str, np.ndarray]:
    """Return accuracies in each order, by whose they are."""
    sides = {"mine": (runs, mine), "theirs": (others, theirs)}
    found = {
        whose: right.mean(axis=1)
        for whose, (part, right) in sides.items()
        if not _order_free(part[0])
    }
    if len(found) == 2 and [run["order"] for run in runs] == [run["order"] for run in others]:
        found["difference"] = found["mine"] - found["theirs"]
    return found


def _order_free(run: dict[str, Any]) -> bool:
    return bool(run.get("order_free")) or len(run["order"]) == 1
