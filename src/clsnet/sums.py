"""Sums that travel: what one pass over some data leaves, for any model of the same extractor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from clsnet.arrays.devices import CPU, Device, namespace, to_device, to_numpy
from clsnet.arrays.linalg import double
from clsnet.classifier.curvatures import FewSamples, FullTrace
from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.noise import Privacy, noised
from clsnet.classifier.rule import TOTAL
from clsnet.classifier.summed_task import SummedTask
from clsnet.classifier.sums import Batch, Label
from clsnet.errors import ClsnetError
from clsnet.extractor.identity import IDENTITY, Identity, difference
from clsnet.header import LABEL, MOST, MOST_PIXELS, SIZE, damaged
from clsnet.storage import model_file
from clsnet.storage.files import at_home, write_atomically
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

WIRE = "what a worker sent"
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


@dataclass(frozen=True)
class Source:
    """What sums were taken with; only sums of the same source add up.

    Attributes
    ----------
    extractor
        What its features follow from; see `clsnet.extractor.identity`.
    sample_shape
        Shape of one sample.
    per_class
        Whether there is one sum for each class, as ``retain="classes"`` needs, or one in total.
    feature_names
        Names of the columns of vectors, if they had any.
    """

    extractor: Identity
    sample_shape: tuple[int, ...]
    per_class: bool
    feature_names: list[str] | None = None

    def difference(self, other: Source) -> str:
        """Say in what another source differs, or nothing."""
        if self.sample_shape != other.sample_shape:
            return f"shapes of samples ({self.sample_shape} and {other.sample_shape})"
        if self.feature_names != other.feature_names:
            return "names of columns"
        if found := difference(self.extractor, other.extractor):
            return found
        kept = ["each class" if one.per_class else "the total" for one in (self, other)]
        return "" if kept[0] == kept[1] else f"retain (sums of {kept[0]} and of {kept[1]})"


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of some data: they add up, can be saved and pickled, and hold no sample.

    `CLSNet.summarise` makes them and `CLSNet.learn_sums` learns them, as if the model had seen the
    data. ``a + b`` are the sums of both data, and so is ``sum([a, b, c])``, in any order.

    Attributes
    ----------
    source
        What they were taken with.
    summed
        The sums themselves.
    clip
        The largest norm of a representation, if there is one.
    privacy
        What noise promises, if there is noise on all of it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from clsnet import CLSNet
    >>> X, y = load_digits(return_X_y=True)
    >>> here = CLSNet().summarise([(X[:900], y[:900])])
    >>> there = CLSNet().summarise([(X[900:], y[900:])])
    >>> here + there
    Sums(1797 samples of 10 classes, 965 features)
    >>> model = CLSNet().learn_sums(here + there)
    >>> bool((model.predict(X) == CLSNet().fit(X, y).predict(X)).all())
    True
    """

    source: Source = field(repr=False)
    summed: SummedTask = field(repr=False)
    clip: float | None = None
    privacy: Privacy | None = None

    @property
    def classes(self) -> list[Label]:
        """Classes, sorted."""
        return self.summed.task.classes

    @property
    def n_samples(self) -> int:
        """Samples summed."""
        return self.summed.task.n_samples

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Sums):
            return NotImplemented
        if found := self.source.difference(other.source):
            raise ClsnetError(f"sums of different {found} cannot be added.")
        if self.clip != other.clip:
            raise ClsnetError(
                f"sums of different clip ({self.clip} and {other.clip}) cannot be added."
            )
        both = None
        if self.privacy and other.privacy:
            both = self.privacy.beside(other.privacy)
        return type(self)(self.source, self.summed.merge(other.summed), self.clip, both)

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # as `sum` begins

    def with_noise(
        self, epsilon: float, delta: float, random: np.random.Generator | None = None
    ) -> Self:
        """Return the sums with noise that hides whether any one sample is among them.

        Noise of the Gaussian mechanism is added to the Gram matrix, the class sums and the numbers
        of samples, once and for all of them together; `privacy` tells what it promises. What the
        noise took from the Gram matrix's eigenvalues below zero is put back to zero. Names of
        classes are not hidden. Add noise once: each further release of the same samples costs.

        Parameters
        ----------
        epsilon, delta
            What is to be promised.
        random
            Where noise comes from; the operating system's source unless a test gives another.
        """
        promised = Privacy.of(epsilon, delta)
        if self.clip is None or self.privacy is not None:
            raise ClsnetError(
                "noise is for sums of bounded samples, and only once: summarise(..., clip=NORM)."
            )
        if self.source.per_class or self.summed.task.weights:
            raise ClsnetError('noise is for sums in total (not retain="classes") without weights.')
        random = random or np.random.default_rng()
        noisy = noised(self.summed, self.clip, promised.mu, random)
        return type(self)(self.source, noisy, self.clip, promised)

    def on(self, device: Device) -> SummedTask:
        """Return the sums themselves on a device."""
        if device == CPU:
            return self.summed
        traces = {key: _moved(trace, device) for key, trace in self.summed.traces.items()}
        return SummedTask(self.summed.task, traces)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sums to one file; what was there before survives any failure."""
        write_atomically(at_home(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return what `save` writes: a checked form in which sums can travel without a pickle."""
        source, summed = self.source, self.summed
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
        if self.clip is not None:
            header["clip"] = self.clip
        if self.privacy is not None:
            header["privacy"] = asdict(self.privacy)
        arrays = {
            f"trace.{i}.{name}": array
            for i, trace in enumerate(summed.traces.values())
            for name, array in trace.arrays().items()
        }
        return model_file.to_bytes(header, arrays, model_file.SUMS)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read sums that `save` wrote; a file that is damaged or of another kind is refused."""
        place = at_home(path)
        return cls._of(place, *model_file.read(place, model_file.SUMS))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the sums of `to_bytes`; other bytes are refused."""
        return cls._of(Path(WIRE), *model_file.from_bytes(data, WIRE, model_file.SUMS))

    @classmethod
    def _of(cls, path: Path, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        try:
            HEADER.check(header, "the header")
            source = Source(
                header["extractor"],
                tuple(header["sample_shape"]),
                header["per_class"],
                header.get("feature_names"),
            )
            _check_classes(header)
            promised = Privacy(**header["privacy"]) if "privacy" in header else None
            return cls(source, _restored(header, arrays), header.get("clip"), promised)
        except Misfit as error:
            raise damaged(path, error) from None

    def __repr__(self) -> str:
        told = f"{self.n_samples} samples of {len(self.classes)} classes"
        noise = f", {self.privacy}" if self.privacy else ""
        return f"Sums({told}, {self.source.extractor['dimension']} features{noise})"


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


def _restored(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SummedTask:
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


def clipped(clip: float) -> Callable[[Batch], Batch]:
    """Return what scales down the longer rows of a batch to a norm."""

    def shorter(batch: Batch) -> Batch:
        A, *rest = batch
        A = double(A)
        xp = namespace(A)
        norms = xp.linalg.vector_norm(A, axis=1)
        return A * (clip / xp.clip(norms, min=clip))[:, None], *rest

    return shorter


def settled(summed: SummedTask) -> SummedTask:
    """Return sums in NumPy's arrays that nobody will write to."""
    return SummedTask(summed.task, {k: _moved(t, CPU) for k, t in summed.traces.items()})


def _moved(trace: FullTrace, device: Device) -> FullTrace:
    place = to_numpy if device == CPU else (lambda array: to_device(array, device))
    kind = FewSamples if isinstance(trace, FewSamples) else FullTrace
    arrays = {name: place(array) for name, array in trace.arrays().items()}
    return kind(labels=trace.labels, n_samples=trace.n_samples, **arrays)
