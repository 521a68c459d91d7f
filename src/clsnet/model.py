"""A model: a fixed extractor, a classifier, and notes; what one file holds."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from clsnet.arrays.devices import Array, library, namespace, resolve_device
from clsnet.arrays.devices import to_numpy as as_numpy
from clsnet.arrays.ranks import share
from clsnet.arrays.restarts import place
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.column_sums import SharedBatch, column_sums
from clsnet.classifier.merging import merged, renamed
from clsnet.classifier.moving import moved
from clsnet.classifier.ridge.standardised import warn_of_offsets
from clsnet.classifier.rule import Rule, rule_of
from clsnet.classifier.summed_task import refuse_two_kinds
from clsnet.classifier.sums import Batch
from clsnet.errors import ClsnetError
from clsnet.extractor import Extractor
from clsnet.extractor.batches import LabelledSamples, rebatch, rows_of
from clsnet.extractor.identity import identity
from clsnet.header import Reader, damaged, read
from clsnet.images import Samples
from clsnet.memory import MEGABYTE, MemoryUse
from clsnet.resumed_sums import SavedSums, resumed_sums
from clsnet.saved_model import arrays_of, header_of, restored_classifier, restored_extractor
from clsnet.storage import model_file
from clsnet.storage.schema import Misfit
from clsnet.sums import Source, Sums, clipped, settled

ROWS = 4096
MOST_SCORES = 1 << 24  # in memory at once while the best of them is looked for
KEEPS_TASK = (
    "exact forgetting is not available: the extractor was fitted to samples of the first task and "
    "keeps their mark. Available: forget(..., exact=False); or a model whose extractor needs no "
    "data, as by default, or was given samples that may be kept: prepare(X)."
)


@dataclass(frozen=True)
class Model:
    """Everything that is needed to predict and to go on learning; a change returns a new model.

    Attributes
    ----------
    extractor
        Subnetwork I: the fixed map from samples to representations A.
    classifier
        Subnetwork II.
    sample_shape
        Shape of one sample.
    parameters
        Options that differ from those of a plain estimator, or all of them; saved with the model.
    feature_names
        Names of the columns of vectors, if the first task had them.
    notes
        Whatever JSON can hold; saved with the model.
    """

    extractor: Extractor
    classifier: AnalyticClassifier
    sample_shape: tuple[int, ...]
    parameters: dict[str, Any]
    feature_names: list[str] | None = None
    notes: dict[str, Any] | None = None

    @classmethod
    def blank(
        cls,
        extractor: Extractor,
        sample_shape: tuple[int, ...],
        parameters: dict[str, Any],
        feature_names: list[str] | None = None,
    ) -> Self:
        """Return a model that has learned nothing, of a fitted extractor."""
        classifier = new_classifier(rule_of(parameters), extractor)
        return cls(extractor, classifier, sample_shape, parameters, feature_names)

    @property
    def classes(self) -> list[Any]:
        """Classes known now, in the order of scores."""
        return self.classifier.labels

    @property
    def order_free(self) -> bool:
        """Whether the same tasks in any other order would have led to the same answers."""
        rule = self.classifier.rule
        return rule.plain and not rule.forgetting.forgets and not self.extractor.keeps_task

    # ------------------------------------------------------------------ learning

    def learned(self, batches: Callable[[], Iterable[LabelledSamples]]) -> Self:
        """Return the model with one more task; its weights wait until they are needed.

        Parameters
        ----------
        batches
            Starts a pass over the task. The diagonal curvature makes two passes.
        """
        saved = place() if self.classifier.rule.curvature != "diagonal" else None
        if saved is not None:
            every = rebatch(batches(), ROWS)
            return self.with_sums(resumed_sums(every, SavedSums(saved), self._own_sums))

        def represented() -> Iterator[Batch]:
            return self._represented(batches(), share())

        return replace(self, classifier=self.classifier.observe(represented))

    def summarise(self, batches: Iterable[LabelledSamples], clip: float | None = None) -> Sums:
        """Return the sums of samples, for any model of the same extractor; nothing is learned.

        Where several processes work together, each sums up what it is given itself.

        Parameters
        ----------
        batches
            Samples, labels and weights.
        clip
            The largest norm of a representation; longer ones are scaled down to it.
        """
        every = self._represented(batches, slice(None))
        summed = self.classifier.summarise(every if clip is None else map(clipped(clip), every))
        return Sums(self.source, settled(summed), clip)

    def summarise_columns(self, batches: Iterable[LabelledSamples]) -> Sums:
        """Return the sums of all processes together, with the classes of this process alone.

        Parameters
        ----------
        batches
            Samples, labels and weights; the same in every process.
        """

        def shared() -> Iterator[SharedBatch]:
            for X, y, weights in rebatch(batches, ROWS):
                mine = np.arange(len(y))[share()]
                some = X[share()] if len(mine) else X[:1]
                yield self.extractor.transform(some)[: len(mine)], mine, y, weights

        summed = column_sums(shared(), self.classifier.no_sums())
        return Sums(self.source, settled(summed))

    def with_sums(self, sums: Sums) -> Self:
        """Return the model with one more task, given its sums; its weights wait."""
        if difference := self.source.difference(sums.source):
            raise ClsnetError(f"these sums are not of this model: they have other {difference}.")
        refuse_two_kinds([*self.classes, *sums.classes])
        learned = self.classifier.with_sums(sums.on(self.extractor.device))
        return replace(self, classifier=learned)

    @property
    def source(self) -> Source:
        """What its sums are taken with."""
        per_class = self.classifier.rule.retain == "classes"
        return Source(identity(self.extractor), self.sample_shape, per_class, self.feature_names)

    def _own_sums(self, batches: Iterable[LabelledSamples]) -> Sums | None:
        """Return the sums of this process's share of batches, if it has one."""
        represented = self._represented(batches, share())
        if (first := next(represented, None)) is None:
            return None
        summed = self.classifier.summarise(itertools.chain([first], represented))
        return Sums(self.source, settled(summed))

    def _represented(self, batches: Iterable[LabelledSamples], mine: slice) -> Iterator[Batch]:
        """Yield representations of some rows of each batch, their labels and weights."""
        for batch in rebatch(batches, ROWS):
            X, y, *weights = rows_of(batch, mine)
            if not len(y):
                continue
            A = self.extractor.transform(X)
            if self.classifier.intercept is not None:
                warn_of_offsets(A[:, : X.shape[1]])
            yield A, y, *weights

    def consolidated(self) -> Self:
        """Return the model with weights for everything learned."""
        return replace(self, classifier=self.classifier.consolidated())

    def without(self, tasks: Collection[int], classes: Collection[Any], exact: bool) -> Self:
        """Return the model without tasks or classes."""
        left = self.classifier.forget(tasks, classes, exact)
        if exact and self.extractor.keeps_task and self._are_in_first_task(tasks, classes):
            raise ClsnetError(KEEPS_TASK)
        return replace(self, classifier=left)

    def with_moved(self, A: Array, old: Sequence[Any], new: Any = None) -> Self:
        """Return the model as if samples had been learned as the class `new`, or never if None.

        Parameters
        ----------
        A
            Their representations.
        old
            The class that each of them was learned as.
        new
            The class that they should have had.
        """
        if new is None and self.extractor.keeps_task and self._are_in_first_task((), old):
            raise ClsnetError(KEEPS_TASK)
        return replace(self, classifier=moved(self.classifier, A, old, new))

    def merged(self, other: Model) -> Self:
        """Return the model that learned the tasks of both; its weights wait, and it has no notes.

        Both must have the same extractor and learn by the same rule.
        """
        difference = self.source.difference(other.source)
        if not difference and self.extractor.device != other.extractor.device:
            difference = f"devices ({self.extractor.device} and {other.extractor.device})"
        if difference:
            raise ClsnetError(f"models of different {difference} cannot be merged.")
        return replace(self, classifier=merged(self.classifier, other.classifier), notes=None)

    def renamed(self, names: Mapping[Any, Any]) -> Self:
        """Return the model with new names for classes."""
        labels = [names.get(label, label) for label in self.classes]
        for label, n in Counter(labels).items():
            if n > 1:
                raise ClsnetError(f"a model cannot have two classes of the name {label!r}.")
        return replace(self, classifier=renamed(self.classifier, names))

    def _are_in_first_task(self, tasks: Collection[int], classes: Collection[Any]) -> bool:
        first = self.classifier.tasks[0].classes
        return 0 in tasks or any(label in first for label in classes)

    def unlearned(self) -> Self:
        """Return a model that has learned nothing, with the same extractor."""
        blank = new_classifier(self.classifier.rule, self.extractor)
        return replace(self, classifier=blank, notes=None)

    # ---------------------------------------------------------------- predicting

    def represent(self, X: Samples) -> Array:
        """Return the representations A of samples."""
        starts = range(0, len(X), ROWS)
        parts = [self.extractor.transform(X[start : start + ROWS]) for start in starts]
        return parts[0] if len(parts) == 1 else namespace(*parts).concat(parts)

    def scores(self, X: Samples) -> np.ndarray:
        """Return one score per class for each sample."""
        parts = (X[start : start + ROWS] for start in range(0, len(X), ROWS))
        found = [self.classifier.scores(self.extractor.transform(part)) for part in parts]
        return np.concatenate([as_numpy(part) for part in found])

    def best(self, X: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of the best class of each sample, and its score.

        Scores of few samples at a time are in memory, however many classes there are.
        """
        found: list[tuple[np.ndarray, np.ndarray]] = []
        step = max(1, min(ROWS, MOST_SCORES // max(1, len(self.classes))))
        for start in range(0, len(X), ROWS):
            A = self.extractor.transform(X[start : start + ROWS])
            for first in range(0, len(A), step):
                scores = as_numpy(self.classifier.scores(A[first : first + step]))
                places = scores.argmax(axis=1)
                found.append((places, np.take_along_axis(scores, places[:, None], 1)[:, 0]))
        places, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return places, scores

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities that scores stand for."""
        return self.classifier.calibration.probabilities(scores)

    # --------------------------------------------------------------------- files

    def memory(self) -> MemoryUse:
        """Return the size of everything kept, with 32 bits for each number as in the paper."""
        count = sum(model_file.numbers(*item) for item in arrays_of(self, False).items())
        return MemoryUse(4 * count / MEGABYTE, backbone_mb=self.extractor.referred_mb)

    def for_predicting(self) -> Self:
        """Return the model with weights in single precision, and nothing to go on learning from."""
        return replace(self, classifier=self.classifier.for_predicting())

    def save(self, path: str | os.PathLike[str], *, self_contained: bool = False) -> None:
        """Write the model to one file; what was there before survives any failure.

        Parameters
        ----------
        path
            The file.
        self_contained
            Write a frozen network's weights too, so that the file needs nothing but code. A model
            that was loaded from such a file always does so.
        """
        header, arrays = header_of(self, self_contained), arrays_of(self, self_contained)
        model_file.write(Path(path), header, arrays)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        device: str = "cpu",
        allow: str | Collection[str] = (),
    ) -> Self:
        """Read a model; it predicts the same, and can go on learning.

        Parameters
        ----------
        path
            The file.
        device
            Where the model is to live now.
        allow
            Networks that the file may refer to, as ``backbone=`` names them, such as
            ``"hf:NAME"``. A file that refers to others than these and our own is refused.
        """
        place = resolve_device(device)
        path = Path(path)
        header, arrays = read(path)
        reader = Reader(path, allow)
        try:
            extractor = restored_extractor(reader, header, arrays)
            parameters = reader.parameters(header, extractor.backbone)
            blank = new_classifier(rule_of(parameters), extractor.to(place))
            restored = restored_classifier(blank, header, arrays)
        except Misfit as error:
            raise damaged(path, error) from None
        return cls(
            extractor,
            restored,
            tuple(header["sample_shape"]),
            parameters,
            header.get("feature_names"),
            header.get("notes"),
        )


def new_classifier(rule: Rule, extractor: Extractor) -> AnalyticClassifier:
    """Return a classifier that has learned nothing, for what an extractor gives."""
    size, device = extractor.dimension, extractor.device
    xp = library(device)
    none = xp.zeros((size, 0), dtype=xp.float64, device=device)
    intercept, inputs = extractor.intercept, extractor.inputs
    return AnalyticClassifier(rule, size, device, omega=none, intercept=intercept, inputs=inputs)
