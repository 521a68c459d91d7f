"""Which test samples a run classified correctly, in the data set's order of test samples."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from clsnet.data import Task


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers after the last task.

    Attributes
    ----------
    tested
        A mask of the data set's test samples: those of the sequence's classes.
    right
        A mask of the data set's test samples: those classified correctly.
    labels
        Digest of the labels of all test samples; runs with the same digest had the same test set.

    Examples
    --------
    >>> answers = Answers(np.array([True, True, False]), np.array([False, True, False]), "4d1a")
    >>> answers.packed()
    {'samples': 3, 'labels': '4d1a', 'tested': 'wA==', 'right': 'QA=='}
    >>> Answers.unpacked(answers.packed()).right
    array([False,  True, False])
    """

    tested: np.ndarray
    right: np.ndarray
    labels: str

    @classmethod
    def of(cls, right: Sequence[np.ndarray], tasks: Sequence[Task], y_test: np.ndarray) -> Self:
        """Put the answers to the test samples of each task in the order of the data set.

        Parameters
        ----------
        right
            Of each task, which of its test samples were answered right.
        tasks
            The tasks, whose test samples are in the order of the data set.
        y_test
            Labels of all test samples of the data set.
        """
        whole, tested = np.zeros((2, len(y_test)), dtype=bool)
        for task, mine in zip(tasks, right, strict=True):
            rows = np.isin(y_test, task.classes)
            whole[rows] = mine
            tested |= rows
        digest = hashlib.sha256(np.asarray(y_test, dtype="<i8").tobytes()).hexdigest()
        return cls(tested, whole, digest)

    @classmethod
    def unpacked(cls, packed: dict[str, Any]) -> Self:
        """Return what `packed` wrote, or raise a `ValueError` or `LookupError`."""
        n = int(packed["samples"])
        tested, right = (_unpacked(packed[name], n) for name in ("tested", "right"))
        if not tested.any() or (right & ~tested).any():
            raise ValueError("answers to samples that were not tested")
        return cls(tested, right, str(packed["labels"]))

    def same_test(self, other: Answers) -> bool:
        """Whether the same samples of the same test set were asked about."""
        return self.labels == other.labels and np.array_equal(self.tested, other.tested)

    def packed(self) -> dict[str, Any]:
        """Return the answers as JSON holds them: a bit for each test sample, in base64."""
        masks = {"tested": _packed(self.tested), "right": _packed(self.right)}
        return {"samples": len(self.tested), "labels": self.labels, **masks}


def _packed(mask: np.ndarray) -> str:
    return base64.b64encode(np.packbits(mask).tobytes()).decode()


def _unpacked(text: str, n: int) -> np.ndarray:
    octets = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
    if len(octets) != -(-n // 8):
        raise ValueError(f"{len(octets)} bytes are not a bit for each of {n} samples")
    return np.unpackbits(octets, count=n).astype(bool)
