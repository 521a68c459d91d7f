"""Task sequences by the paper's names: FashionMNIST-10/5 is ten classes in five tasks."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clsnet.data.dataset import Dataset
from clsnet.data.registry import Report, find_dataset, load_dataset
from clsnet.errors import ClsnetError

Order = tuple[tuple[int, ...], ...]
"""The classes of each task, task after task."""


@dataclass(frozen=True, eq=False)
class Task:
    """The images of a few classes, in the data set's row order and with its labels."""

    classes: tuple[int, ...]
    X_train: npt.NDArray[np.uint8]
    y_train: npt.NDArray[np.int64]
    X_test: npt.NDArray[np.uint8]
    y_test: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TaskSequence:
    """A data set whose classes come in tasks of equal size.

    Examples
    --------
    >>> from clsnet.data import load_sequence
    >>> sequence = load_sequence("digits-10/5")
    >>> sequence.name, sequence.n_classes, sequence.n_tasks
    ('Digits-10/5', 10, 5)
    >>> order = sequence.order(seed=0, index=0)
    >>> order
    ((4, 9), (8, 7), (5, 3), (0, 1), (2, 6))
    >>> first, *others = sequence.tasks(order)
    >>> first.X_train.shape, sorted(set(first.y_train.tolist()))
    ((289, 8, 8), [4, 9])
    """

    dataset: Dataset
    n_classes: int
    n_tasks: int

    @property
    def name(self) -> str:
        """The sequence's canonical name."""
        return f"{self.dataset.name}-{self.n_classes}/{self.n_tasks}"

    def order(self, seed: int, index: int, shuffle: str = "classes") -> Order:
        """Shuffle the classes into tasks.

        Parameters
        ----------
        seed
            Fixes everything; alone it fixes which classes are used, where not all are.
        index
            Which of the seed's orders.
        shuffle
            ``"classes"``, or ``"tasks"`` to keep neighbouring classes together, as the authors'
            released experiment does: (0, 1), (2, 3), ... in a random order.
        """
        if seed < 0 or index < 0:
            raise ClsnetError(f"seed {seed} and order {index} must both be 0 or more")
        by_seed = np.random.default_rng(np.random.SeedSequence(seed))
        by_index = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
        used = np.sort(by_seed.permutation(len(self.dataset.class_names))[: self.n_classes])
        if shuffle == "classes":
            tasks = by_index.permutation(used).reshape(self.n_tasks, -1)
        else:
            tasks = by_index.permutation(used.reshape(self.n_tasks, -1))
        return tuple(tuple(classes) for classes in tasks.tolist())

    def tasks(self, order: Order) -> list[Task]:
        """Cut the data set into the tasks of an order."""
        return [self._task(classes) for classes in order]

    def _task(self, classes: tuple[int, ...]) -> Task:
        data = self.dataset
        for part, y in (("training", data.y_train), ("test", data.y_test)):
            if absent := set(classes).difference(y.tolist()):
                raise ClsnetError(
                    f"{data.name} has no {part} images of class {min(absent)}: "
                    "give every class of the order some"
                )
        train, test = np.isin(data.y_train, classes), np.isin(data.y_test, classes)
        return Task(
            classes, data.X_train[train], data.y_train[train], data.X_test[test], data.y_test[test]
        )


def load_sequence(
    name: str, root: Path | None = None, report: Report | None = None
) -> TaskSequence:
    """Load a task sequence by its name.

    Parameters
    ----------
    name
        `DATASET-C/T`: C classes of the data set in T tasks.
    root, report
        As for `load_dataset`.

    Examples
    --------
    >>> from clsnet.data import load_sequence
    >>> load_sequence("Digits-10/3")
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: 'Digits-10/3': 10 classes do not divide into 3 equal tasks
    """
    parts = re.fullmatch(r"(.+)-([1-9][0-9]{0,8})/([1-9][0-9]{0,8})", name)
    if parts is None:
        raise ClsnetError(
            f"{name!r} is not a sequence: write DATASET-C/T, C classes in T tasks, "
            "such as FashionMNIST-10/5"
        )
    info = find_dataset(parts[1])
    n_classes, n_tasks = int(parts[2]), int(parts[3])
    if n_classes > info.n_classes:
        raise ClsnetError(f"{name!r}: {info.name} has only {info.n_classes} classes")
    if n_classes % n_tasks:
        raise ClsnetError(f"{name!r}: {n_classes} classes do not divide into {n_tasks} equal tasks")
    return TaskSequence(load_dataset(info.name, root, report), n_classes, n_tasks)
