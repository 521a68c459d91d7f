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
        only one order of a method that depends on the order of tasks.
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

        W = 1/S^2 sum_s var_o(a_so) / m_s

    with m_s orders and a_so the difference in accuracy in order o; where the two methods were not
    run in the same orders, the terms of both are added. A method whose answers do not depend on
    the order adds nothing, and one order of it is enough. The interval is t sqrt(V + W) to either
    side, where t is the quantile of Student's distribution for the degrees of freedom of V + W by
    Welch and Satterthwaite; for V alone it is about 1.96. Seeds are not a draw: the interval is
    about these networks and these classes, not about others.

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
    known = all(pair.orders_known for pair in found.values())
    return Comparison(
        float(np.mean(list(by_seed.values()))),
        _margin(np.concatenate(list(shares.values())), list(found.values())) if known else None,
        by_seed,
    )


@dataclass(frozen=True)
class _Pair:
    """Two methods and one seed: rows are orders, columns the samples that were tested."""

    mine: np.ndarray
    theirs: np.ndarray
    same_orders: bool
    orders_known: bool
    tested: np.ndarray
    labels: str

    @property
    def over_orders(self) -> list[np.ndarray]:
        """Accuracies of several orders, of which the variance of orders is the sum."""
        mine, theirs = self.mine.mean(axis=1), self.theirs.mean(axis=1)
        parts = [mine - theirs] if self.same_orders else [mine, theirs]
        return [part for part in parts if len(part) > 1]


def _margin(shares: np.ndarray, pairs: list[_Pair]) -> float | None:
    u = shares[~np.isnan(shares)]
    if len(u) == 1:
        return None
    parts = [part for pair in pairs for part in pair.over_orders]
    variances = [len(u) / (len(u) - 1) * float(u @ u)]
    variances += [float(part.var(ddof=1)) / len(part) / len(pairs) ** 2 for part in parts]
    freedom = [len(u) - 1, *(len(part) - 1 for part in parts)]
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
    mine, theirs = ([run["order"] for run in part] for part in (runs, others))
    known = all(len(part) > 1 or _order_free(part[0]) for part in (runs, others))
    rows = len(runs)
    return _Pair(right[:rows], right[rows:], mine == theirs, known, first.tested, first.labels)


def _order_free(run: dict[str, Any]) -> bool:
    return bool(run.get("order_free")) or len(run["order"]) == 1
