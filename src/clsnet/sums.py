"""Sums of some data, which any model with the same extractor can learn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from clsnet.arrays.devices import CPU, Device, namespace, to_device, to_numpy
from clsnet.arrays.linalg import double
from clsnet.classifier.curvatures import FewSamples, FullTrace
from clsnet.classifier.noise import Privacy, noised
from clsnet.classifier.summed_task import SummedTask
from clsnet.classifier.sums import Batch, Label
from clsnet.errors import ClsnetError
from clsnet.extractor.identity import Identity, difference
from clsnet.header import damaged
from clsnet.saved_sums import arrays_of, check_header, header_of, restored
from clsnet.storage import model_file
from clsnet.storage.files import at_home, write_atomically
from clsnet.storage.schema import Misfit

WIRE = "what a worker sent"


@dataclass(frozen=True)
class Source:
    """How sums were computed; only sums with the same source can be added.

    Attributes
    ----------
    extractor
        A description of the extractor; see `clsnet.extractor.identity`.
    sample_shape
        Shape of one sample.
    per_class
        Whether there is one sum for each class, as ``retain="classes"`` needs, or one total.
    feature_names
        Names of the columns of vectors, if they had any.
    """

    extractor: Identity
    sample_shape: tuple[int, ...]
    per_class: bool
    feature_names: list[str] | None = None

    def difference(self, other: Source) -> str:
        """Return how another source differs, or an empty text."""
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
    """The sums of some data. They can be added, saved and pickled, and hold no sample.

    `CLSNet.summarise` makes them and `CLSNet.learn_sums` learns them, as if the model had seen the
    data. ``a + b`` are the sums over both data sets; ``sum([a, b, c])`` works, too, in any order.

    Attributes
    ----------
    source
        How they were computed.
    summed
        The sums themselves.
    clip
        The norm to which longer representations were scaled down, or None.
    privacy
        The differential privacy of the noise, if noise was added.

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
        """Return the sums with noise for differential privacy (Gaussian mechanism).

        The noise hides whether any one sample is among those summed. It is added once to the Gram
        matrix, the class sums and the numbers of samples together; `privacy` describes the
        guarantee. Negative eigenvalues of the noisy Gram matrix are set to zero. Names of classes
        are not hidden. Add noise only once: every further release of the same samples weakens the
        guarantee.

        Parameters
        ----------
        epsilon, delta
            The guarantee: (epsilon, delta)-differential privacy.
        random
            Source of the noise; by default that of the operating system.
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
        """Write the sums to one file; an existing file survives any failure."""
        write_atomically(at_home(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return what `save` writes, in a checked format without pickles."""
        header, arrays = header_of(self), arrays_of(self)
        return model_file.to_bytes(header, arrays, model_file.SUMS)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load sums that `save` wrote; a damaged file or another kind of file is refused."""
        place = at_home(path)
        return cls._of(place, *model_file.read(place, model_file.SUMS))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the sums of `to_bytes`; other bytes are refused."""
        return cls._of(Path(WIRE), *model_file.from_bytes(data, WIRE, model_file.SUMS))

    @classmethod
    def _of(cls, path: Path, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        try:
            check_header(header)
            source = Source(
                header["extractor"],
                tuple(header["sample_shape"]),
                header["per_class"],
                header.get("feature_names"),
            )
            promised = Privacy(**header["privacy"]) if "privacy" in header else None
            return cls(source, restored(header, arrays), header.get("clip"), promised)
        except Misfit as error:
            raise damaged(path, error) from None

    def __repr__(self) -> str:
        told = f"{self.n_samples} samples of {len(self.classes)} classes"
        noise = f", {self.privacy}" if self.privacy else ""
        return f"Sums({told}, {self.source.extractor['dimension']} features{noise})"


def clipped(clip: float) -> Callable[[Batch], Batch]:
    """Return what scales down the longer rows of a batch to a norm; weights would undo that."""

    def shorter(batch: Batch) -> Batch:
        A, y, *weights = batch
        if any((w != 1).any() for w in weights):
            raise ClsnetError("clip is for samples and classes without weights.")
        A = double(A)
        xp = namespace(A)
        norms = xp.linalg.vector_norm(A, axis=1)
        return A * (clip / xp.clip(norms, min=clip))[:, None], y

    return shorter


def settled(summed: SummedTask) -> SummedTask:
    """Return sums in NumPy's arrays that nobody will write to."""
    return SummedTask(summed.task, {k: _moved(t, CPU) for k, t in summed.traces.items()})


def _moved(trace: FullTrace, device: Device) -> FullTrace:
    place = to_numpy if device == CPU else (lambda array: to_device(array, device))
    kind = FewSamples if isinstance(trace, FewSamples) else FullTrace
    arrays = {name: place(array) for name, array in trace.arrays().items()}
    return kind(labels=trace.labels, n_samples=trace.n_samples, **arrays)
