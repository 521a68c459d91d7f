"""The input of a method: pixels, features of a frozen network, or a network that it trains."""

from __future__ import annotations

from typing import Any

from clsnet.evaluation.summaries import TUNED_FORM, Summary
from clsnet.methods.registry import methods

PIXELS, FROZEN, TUNED = FORMS = ("pixels", "F", "T")
MEANING = (
    "Form: pixels, no pretrained network; F, a frozen pretrained network, whose features the "
    "method learns on; T, that network fine-tuned by the method."
)


def form_of(summary: Summary) -> str:
    """Return the form of runs.

    Examples
    --------
    >>> form_of(Summary("Digits-10/5", "ewc", None, "agnostic", False, []))
    'pixels'
    >>> form_of(Summary("Digits-10/5", "der", None, "agnostic", False, [], ("form=tuned",)))
    'T'
    """
    method = methods().get(summary.method)
    if TUNED_FORM in summary.options or (method and method.finetunes):
        return TUNED
    return FROZEN if any(map(_has_network, summary.runs)) else PIXELS


def _has_network(run: dict[str, Any]) -> bool:
    return bool(run.get("network") or run["memory"].get("backbone_mb"))
