"""Task sequences by the paper's names: FashionMNIST-10/5 is ten classes in five tasks."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clsnet.data.dataset import Dataset, Labels, Pixels
from clsnet.data.folder import folder_classes, load_folder
from clsnet.data.registry import find_dataset, is_dataset, load_dataset
from clsnet.errors import ClsnetError
from clsnet.images import Report

Order = tuple[tuple[int, ...], ...]
"""The classes of each task, task after task."""

NUMBER = "([1-9][0-9]{0,8})"
DIVISION = rf"(?:[Bb]{NUMBER}\+)?{NUMBER}"


@dataclass(frozen=True, eq=False)
class Task:
    """The images of a few classes, in the data set's row order and with its labels."""

    classes: tuple[int, ...]
    X_train: Pixels
    y_train: Labels
    X_test: Pixels
    y_test: Labels


@dataclass(frozen=True, eq=False)
class TaskSequence:
    """A data set whose classes come in tasks, as equal in size as possible.

    Attributes
    ----------
    dataset, n_classes, n_tasks
        The number of classes used and the number of tasks; all other classes are base classes.
    spec
        The name given to `load_sequence`, which loads the same sequence again.
    first
        The number of classes in the first task, if it differs from the others.

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
    spec: str = ""
    first: int | None = None

    @property
    def name(self) -> str:
        """The sequence's canonical name."""
        name, n = self.dataset.name, len(self.dataset.class_names)
        whole = self.n_classes == n and name.endswith(f"-{n}")
        tasks = f"B{self.first}+{self.n_tasks - 1}" if self.first else str(self.n_tasks)
        return f"{name if whole else f'{name}-{self.n_classes}'}/{tasks}"

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of classes in each task.

        Examples
        --------
        >>> from clsnet.data import load_sequence
        >>> load_sequence("Digits-10/3").sizes, load_sequence("Digits-10/B5+2").sizes
        ((4, 3, 3), (5, 3, 2))
        """
        if self.first is None:
            return _divided(self.n_classes, self.n_tasks)
        return (self.first, *_divided(self.n_classes - self.first, self.n_tasks - 1))

    def order(self, seed: int, index: int, shuffle: str = "classes") -> Order:
        """Shuffle the classes into tasks.

        Parameters
        ----------
        seed
            Determines everything random; if not all classes are used, it alone determines which.
        index
            The number of an order among those of the seed.
        shuffle
            ``"classes"``, or ``"tasks"`` to keep neighbouring classes together, as the authors'
            released experiment does: (0, 1), (2, 3), ... in a random order.
        """
        if seed < 0 or index < 0:
            raise ClsnetError(f"seed {seed} and order {index} must both be 0 or more")
        by_index = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
        used = np.sort(self._shuffled(seed)[: self.n_classes])
        sizes = np.array(self.sizes)
        if shuffle == "classes":
            tasks = _cut(by_index.permutation(used), sizes)
        else:
            place = by_index.permutation(self.n_tasks)  # of each task, among neighbouring classes
            cut = _cut(used, sizes[np.argsort(place)])
            tasks = [cut[i] for i in place]
        return tuple(tuple(classes.tolist()) for classes in tasks)

    def base_classes(self, seed: int) -> tuple[int, ...]:
        """Return the classes that no order of this seed uses, for pretraining.

        Examples
        --------
        >>> from clsnet.data import load_sequence
        >>> load_sequence("Digits-6/3").base_classes(seed=0)
        (0, 1, 8, 9)
        """
        return tuple(sorted(self._shuffled(seed)[self.n_classes :].tolist()))

    def base_data(self, seed: int) -> tuple[Pixels, Labels, Pixels, Labels]:
        """Return X, y, X_test and y_test of the base classes, as classes 0, 1, 2, ..."""
        classes = self.base_classes(seed)
        if not classes:
            raise ClsnetError(
                f"{self.name} leaves no class of {self.dataset.name} to pretrain on: "
                "take fewer classes into the sequence"
            )
        base = self._task(classes)
        y, y_test = (np.searchsorted(classes, labels) for labels in (base.y_train, base.y_test))
        return base.X_train, y, base.X_test, y_test

    def _shuffled(self, seed: int) -> Labels:
        if seed < 0:
            raise ClsnetError(f"seed {seed} must be 0 or more")
        by_seed = np.random.default_rng(np.random.SeedSequence(seed))
        return by_seed.permutation(len(self.dataset.class_names))

    def tasks(self, order: Order) -> list[Task]:
        """Split the data set into the tasks of an order."""
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
    name: str, root: Path | None = None, report: Report | None = None, strict: bool = False
) -> TaskSequence:
    """Load a task sequence by its name.

    Parameters
    ----------
    name
        `DATASET-C/T`: C classes of the data set in T tasks. If T does not divide C, the first tasks
        have one class more than the others. `DATASET-C/BN+T`: N classes in the first task, then the
        other C - N in T more tasks; TinyImageNet-200/B100+10 is half of the classes, then ten tasks
        of ten. A data set may be named after its number of classes: CIFAR-100/10 is all of
        CIFAR-100, CIFAR-100-50/5 is half of it. `folder:PATH/T`, `folder:PATH/BN+T`: all classes of
        a folder that `load_folder` loads.
    root, report
        As for `load_dataset`; a folder's relative path starts at the root, if given.
    strict
        As for `load_folder`.

    Examples
    --------
    >>> from clsnet.data import load_sequence
    >>> load_sequence("Digits-10/B4+3").order(seed=0, index=0)
    ((4, 9, 8, 7), (5, 3), (0, 1), (2, 6))
    >>> load_sequence("Digits-10/11")
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: 'Digits-10/11': 10 classes are too few for 11 tasks
    """
    if folder := re.fullmatch(rf"folder:(.+)/{DIVISION}", name, re.IGNORECASE | re.DOTALL):
        path = (root or Path()) / folder[1]
        n_classes = len(folder_classes(path))
        n_tasks, first = _division(name, n_classes, folder[2], folder[3])
        return TaskSequence(load_folder(path, strict, report), n_classes, n_tasks, name, first)
    parts = re.fullmatch(rf"(.+)-{NUMBER}/{DIVISION}", name)
    if parts is None:
        raise ClsnetError(
            f"{name!r} is not a sequence: write DATASET-C/T, C classes in T tasks, such as "
            "FashionMNIST-10/5, or DATASET-C/BN+T, N classes first, or folder:PATH/T"
        )
    n_classes = int(parts[2])
    whole = f"{parts[1]}-{parts[2]}"
    info = find_dataset(whole if is_dataset(whole) else parts[1])
    if n_classes > info.n_classes:
        raise ClsnetError(f"{name!r}: {info.name} has only {info.n_classes} classes")
    n_tasks, first = _division(name, n_classes, parts[3], parts[4])
    dataset = load_dataset(info.name, root, report)
    if n_classes > len(dataset.class_names):
        raise ClsnetError(
            f"{name!r}: only {len(dataset.class_names)} classes of {info.name} are here"
        )
    return TaskSequence(dataset, n_classes, n_tasks, name, first)


def tasks_in_name(name: str) -> int | None:
    """Return how many tasks a sequence of that name has, or None if no name of one ends so.

    Examples
    --------
    >>> tasks_in_name("FashionMNIST-10/5"), tasks_in_name("TinyImageNet-200/B100+10")
    (5, 11)
    """
    found = re.search(rf"/{DIVISION}\Z", name)
    return int(found[2]) + (found[1] is not None) if found else None


def _division(name: str, n_classes: int, first: str | None, tasks: str) -> tuple[int, int | None]:
    """Return the number of tasks and the size of the first one; refuse a task without classes."""
    n_tasks, n_first = int(tasks), int(first or 0)
    if n_classes - n_first < n_tasks:
        after = f" after the first {n_first}" if first else ""
        left = f"{max(0, n_classes - n_first)} classes{after}"
        raise ClsnetError(f"{name!r}: {left} are too few for {n_tasks} tasks")
    return n_tasks + (first is not None), n_first or None


def _divided(n_classes: int, n_tasks: int) -> tuple[int, ...]:
    """Return sizes of tasks that are as equal as possible, the larger ones first."""
    size, more = divmod(n_classes, n_tasks)
    return (size + 1,) * more + (size,) * (n_tasks - more)


def _cut(classes: Labels, sizes: Labels) -> list[Labels]:
    return np.split(classes, np.cumsum(sizes)[:-1])
