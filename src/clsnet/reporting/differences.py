"""The difference in accuracy between each method and clsnet, on the same features."""

from __future__ import annotations

from collections.abc import Sequence

from clsnet.evaluation.comparison import Comparison, compare
from clsnet.evaluation.protocol import DEMO
from clsnet.evaluation.summaries import Summary

REFERENCE = "clsnet"
DEFAULT_PRESET = "fast"
HEADING = f"difference to {REFERENCE}"
MEANING = (
    f"Difference to {REFERENCE}: accuracy after the last task minus that of {REFERENCE} with the "
    f"same preset ({DEFAULT_PRESET} for methods without one), averaged over seeds, with its 95 % "
    "interval over test samples (paired) and orders. Ahead and behind are said only where the "
    "interval excludes zero."
)


def differences(summaries: Sequence[Summary]) -> list[Comparison | None]:
    """Compare each of several summaries with its reference; None where there is none."""
    return [_difference(summary, summaries) for summary in summaries]


def _difference(summary: Summary, summaries: Sequence[Summary]) -> Comparison | None:
    reference = reference_of(summary, summaries)
    if reference is None or reference is summary:
        return None
    return compare(summary.runs, reference.runs)


def reference_of(summary: Summary, summaries: Sequence[Summary]) -> Summary | None:
    """Return the plain clsnet that a method is compared with, or None if there is none.

    It has the same preset, as far as there is one, and the same network. A figure that leaks
    compares with nothing.
    """
    if summary.protocol == DEMO:
        return None
    preset = summary.preset or DEFAULT_PRESET
    ours = [
        one
        for one in summaries
        if (one.method, one.preset, one.protocol) == (REFERENCE, preset, summary.protocol)
    ]

    def unlike(one: Summary) -> tuple[bool, bool, bool, int]:
        networks = [[o for o in s.options if o.startswith("backbone=")] for s in (one, summary)]
        other = networks[0] != networks[1]
        return one.sequence != summary.sequence, other, one.tuned, len(one.options)

    return min(ours, key=unlike, default=None)


def difference_text(found: Comparison | None) -> str:
    """Write a difference, its interval, and which way it goes if the interval says so.

    Examples
    --------
    >>> difference_text(Comparison(-0.0123, 0.004, {0: -0.0123}))
    '-0.0123 ± 0.0040, behind'
    >>> difference_text(Comparison(0.02, 0.04, {0: 0.02})), difference_text(None)
    ('+0.0200 ± 0.0400', '–')
    """
    if found is None:
        return "–"
    margin = "" if found.margin is None else f" ± {found.margin:.4f}"
    return ", ".join(filter(None, [f"{found.difference:+.4f}{margin}", verdict_text(found)]))


def verdict_text(found: Comparison) -> str:
    """Say which way a difference goes, and in how many of several seeds, if the interval says so.

    Examples
    --------
    >>> verdict_text(Comparison(0.02, 0.004, {0: 0.03, 1: 0.031, 2: -0.001}))
    'ahead (in 2 of 3 seeds)'
    """
    if not found.verdict or len(found.by_seed) == 1:
        return found.verdict
    alike = sum(one * found.difference > 0 for one in found.by_seed.values())
    return f"{found.verdict} (in {alike} of {len(found.by_seed)} seeds)"
