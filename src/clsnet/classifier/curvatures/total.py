"""The sum of many full traces."""

from __future__ import annotations

from collections.abc import Sequence

from clsnet.arrays.devices import Array, device_of, namespace
from clsnet.arrays.gram import add_gram, mirror
from clsnet.arrays.linalg import add_scaled, indices
from clsnet.classifier.curvatures.base import Trace
from clsnet.classifier.curvatures.few_samples import FewSamples
from clsnet.classifier.curvatures.full import FullTrace
from clsnet.classifier.ridge.spectrum import most_decomposed


def total(traces: Sequence[FullTrace], weights: Sequence[float] | None = None) -> FullTrace:
    """Return the weighted sum of full traces; rows of several are multiplied together.

    Parameters
    ----------
    traces
        What is added.
    weights
        One per trace; all are 1 if there are none.
    """
    weights = [1.0] * len(traces) if weights is None else weights
    if len(traces) == 1:
        return traces[0] if weights[0] == 1 else traces[0].times(weights[0])
    labels = list(dict.fromkeys(label for trace in traces for label in trace.labels))
    n_samples = sum(w * trace.n_samples for w, trace in zip(weights, traces, strict=True))
    cross = _zeros(traces[0].cross, len(labels))
    column = {label: i for i, label in enumerate(labels)}
    for trace, weight in zip(traces, weights, strict=True):
        own = indices([column[label] for label in trace.labels], device_of(cross))
        cross[:, own] += weight * trace.cross
    if few := few_together(traces):
        scaled = [weight**0.5 * trace.rows for trace, weight in zip(few, weights, strict=True)]
        return FewSamples(labels, namespace(cross).concat(scaled), cross, n_samples)
    return FullTrace(labels, _total_gram(traces, weights), cross, n_samples)


def few_together(traces: Sequence[Trace], part: int | None = None) -> list[FewSamples]:
    """Return all traces if their rows together are few, or at most a `part`-th of the columns."""
    few = [trace for trace in traces if isinstance(trace, FewSamples)]
    if len(few) < len(traces):
        return []
    size = few[0].rows.shape[1]
    most = size // part if part else most_decomposed(size)
    return few if sum(len(trace.rows) for trace in few) <= most else []


def _total_gram(traces: Sequence[FullTrace], weights: Sequence[float]) -> Array:
    gram = _zeros(traces[0].cross, len(traces[0].cross))
    pending: list[Array] = []
    for trace, weight in zip(traces, weights, strict=True):
        if isinstance(trace, FewSamples):
            pending.append(weight**0.5 * trace.rows)
        else:
            add_scaled(gram, trace.gram, weight)
        if sum(map(len, pending)) >= len(gram):
            add_gram(gram, namespace(gram).concat(pending))
            pending = []
    if pending:
        add_gram(gram, namespace(gram).concat(pending))
    return mirror(gram)


def _zeros(like: Array, n_columns: int) -> Array:
    xp = namespace(like)
    return xp.zeros((len(like), n_columns), dtype=like.dtype, device=device_of(like))
