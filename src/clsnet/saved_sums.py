"""Sums as a file holds them, and as they travel: a header and arrays, and sums again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from clsnet.arrays.devices import Array
from clsnet.classifier.curvatures import FewSamples, FullTrace
from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.rule import TOTAL
from clsnet.classifier.summed_task import SummedTask
from clsnet.classifier.sums import Label
from clsnet.extractor.identity import IDENTITY
from clsnet.header import LABEL, MOST, MOST_PIXELS, SIZE
from clsnet.storage.schema import (
    FLAG,
    Misfit,
    check_arrays,
    listed,
    number,
    record,
    row,
    text,
    whole,
)

if TYPE_CHECKING:
    from clsnet.sums import Sums

HEADER = record(
    {
        "extractor": IDENTITY,
        "sample_shape": listed(whole(1, MOST_PIXELS), most=3, least=1),
        "per_class": FLAG,
        "counts": listed(row(LABEL, whole(1, 2**53)), MOST, least=1),
        "weights": listed(row(LABEL, SIZE), MOST),
        "traces": listed(
            record({"key": LABEL, "labels": listed(LABEL, MOST, least=1), "n_samples": SIZE}),
            MOST,
            least=1,
        ),
    },
    {
        "feature_names": listed(text(), MOST_PIXELS),
        "clip": number(0, above=True),
        "privacy": record(
            {
                "delta": number(0, 1, above=True),
                "mu": number(0, 1000, above=True),
                "mu_in_all": number(0, 1e6, above=True),
            }
        ),
    },
)


def header_of(sums: Sums) -> dict[str, Any]:
    """Return everything of sums that is not an array."""
    source, summed = sums.source, sums.summed
    header: dict[str, Any] = {
        "extractor": source.extractor,
        "sample_shape": list(source.sample_shape),
        "per_class": source.per_class,
        "counts": list(summed.task.counts.items()),
        "weights": list(summed.task.weights.items()),
        "traces": [
            {"key": key, "labels": trace.labels, "n_samples": trace.n_samples}
            for key, trace in summed.traces.items()
        ],
    }
    if source.feature_names is not None:
        header["feature_names"] = source.feature_names
    if sums.clip is not None:
        header["clip"] = sums.clip
    if sums.privacy is not None:
        header["privacy"] = asdict(sums.privacy)
    return header


def arrays_of(sums: Sums) -> dict[str, Array]:
    """Return every array of sums by name."""
    return {
        f"trace.{i}.{name}": array
        for i, trace in enumerate(sums.summed.traces.values())
        for name, array in trace.arrays().items()
    }


def check_header(header: Mapping[str, Any]) -> None:
    """Refuse a header that no sums have."""
    HEADER.check(header, "the header")
    _check_classes(header)


def _check_classes(header: Mapping[str, Any]) -> None:
    """Refuse classes and sums that contradict each other."""
    classes = [label for label, _ in header["counts"]]
    if len(set(classes)) < len(classes) or len({isinstance(one, str) for one in classes}) > 1:
        raise Misfit("classes are there twice, or mix text and numbers")
    if not {label for label, _ in header["weights"]} <= set(classes):
        raise Misfit("a weight is of no class")
    keys = [trace["key"] for trace in header["traces"]]
    expected = classes if header["per_class"] else [TOTAL]
    if len(keys) != len(expected) or set(keys) != set(expected):
        raise Misfit("the keys of traces are not those of the classes")
    for trace in header["traces"]:
        wanted = [trace["key"]] if header["per_class"] else classes
        if len(trace["labels"]) != len(wanted) or set(trace["labels"]) != set(wanted):
            raise Misfit("the classes of a trace are not those of the sums")


def restored(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SummedTask:
    """Return the sums themselves, of a header that was checked."""
    dimension = header["extractor"]["dimension"]
    shapes: dict[str, tuple[int, ...]] = {}
    traces: dict[Label, FullTrace] = {}
    for i, saved in enumerate(header["traces"]):
        start = f"trace.{i}."
        kind: Any = FewSamples if f"{start}rows" in arrays else FullTrace
        own = kind.shapes(dimension, len(saved["labels"]))
        shapes |= {f"{start}{name}": shape for name, shape in own.items()}
        traces[saved["key"]] = kind(
            labels=saved["labels"],
            n_samples=saved["n_samples"],
            **{name: arrays.get(f"{start}{name}") for name in own},
        )
    check_arrays(arrays, shapes, dtypes=("float64",))
    counts, weights = (dict(map(tuple, header[name])) for name in ("counts", "weights"))
    return SummedTask(LearnedTask(counts, weights), traces)
