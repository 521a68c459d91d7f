"""How well photos fit the classes that they are taken for."""

from __future__ import annotations

import torch
from torch import Tensor

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.curvatures.full import FullTrace


def usual_scores(classifier: AnalyticClassifier) -> Tensor:
    """Return the mean score, as its own class, of what was learned of each class.

    It follows from the sums that are kept, and falls as more classes share the features.

    Examples
    --------
    >>> import numpy as np
    >>> from clsnet.classifier.analytic import Rule
    >>> blank = AnalyticClassifier(Rule(ridge=1e-9), 2, torch.device("cpu"))
    >>> taught = blank.learn(lambda: [(torch.eye(2), np.array(["cat", "dog"]))])
    >>> usual_scores(taught)
    tensor([1.0000, 1.0000], dtype=torch.float64)
    """
    labels = classifier.labels
    sums = torch.zeros_like(classifier.omega)
    for trace in classifier.traces.values():
        assert isinstance(trace, FullTrace)
        sums += trace.columns(labels)
    counts = [sum(task.counts.get(label, 0) for task in classifier.tasks) for label in labels]
    return (sums * classifier.omega).sum(dim=0) / torch.tensor(counts).to(sums)


def familiarity(scores: Tensor, usual: Tensor) -> Tensor:
    """Return the best score of each photo, relative to what is usual for that class.

    Examples
    --------
    >>> familiarity(torch.tensor([[0.5, 0.2], [0.1, 0.3]]), torch.tensor([0.5, 0.6]))
    tensor([1.0000, 0.5000])
    """
    best = scores.max(dim=1)
    return best.values / usual[best.indices]
