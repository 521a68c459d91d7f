"""The interface of a method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from clsnet.extractor import Extractor
    from clsnet.images import Samples
    from clsnet.memory import MemoryUse


@runtime_checkable
class Learner(Protocol):
    """A method that learns tasks one after another.

    Examples
    --------
    >>> import numpy as np
    >>> from clsnet.memory import MemoryUse
    >>> class AlwaysTheSame:
    ...     def partial_fit(self, X, y):
    ...         self.label = y[0]
    ...     def predict(self, X):
    ...         return np.full(len(X), self.label)
    ...     def memory(self):
    ...         return MemoryUse(model_mb=0.0)
    >>> isinstance(AlwaysTheSame(), Learner)
    True
    """

    def partial_fit(self, X: Samples, y: np.ndarray) -> Any:
        """Learn one task. Its data will not be passed again."""

    def predict(self, X: Samples) -> np.ndarray:
        """Return the class of each sample, among the classes of all tasks so far."""

    def memory(self) -> MemoryUse:
        """Return the size of everything that predicting and further learning need."""


@runtime_checkable
class ExtractorLearner(Learner, Protocol):
    """A learner whose features come from an extractor that stays fixed after the first task.

    The evaluation then computes the features of each test sample once, and gives the independent
    models of forward transfer the same extractor. `extractor_` exists once a task is learned; a
    learner is not an `ExtractorLearner` before that.
    """

    extractor_: Extractor

    def consolidate(self) -> Any:
        """Finish learning now, so that the first prediction need not."""

    def twin(self) -> Self:
        """Return a learner that has learned nothing but shares the extractor."""


@runtime_checkable
class OrderFree(Protocol):
    """A learner that declares whether its answers depend on the order of the tasks.

    If they do not, one order is enough to compare methods; `clsnet.checks` tests the claim with
    another order.
    """

    @property
    def order_free(self) -> bool:
        """Whether the same tasks in any other order would have led to the same answers."""


@runtime_checkable
class SelfChecking(Protocol):
    """A learner that checks its parameters before it learns anything."""

    def check_parameters(self) -> None:
        """Raise an error that says which parameter has a bad value, and what to use."""
