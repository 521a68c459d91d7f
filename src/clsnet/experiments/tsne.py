"""t-SNE of raw samples and of representations after each task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clsnet.arrays.devices import to_numpy
from clsnet.data import Task, TaskSequence
from clsnet.estimator import CLSNet
from clsnet.experiments.answer import Answer, Check, Panel, Panels
from clsnet.experiments.found import Found
from clsnet.experiments.needs import Measurement, Needs
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import place
from clsnet.storage.schema import Kind, listed, number, one_of, record, row, whole

PER_CLASS, FEW = 60, 20
NEIGHBOURS = 10
RAW, HONEST, LEAKS = "raw samples", "representations", "representations LEAKING"
SHARE = number(0, 1)
PANEL = record(
    {
        "space": one_of(RAW, HONEST, LEAKS),
        "tasks": whole(0, 1000),
        "points": listed(row(SHARE, SHARE), 10**5),
        "labels": listed(whole(0, 1000), 10**5),
        "alike": SHARE,
    }
)
NAME = Kind("a name", lambda value, where: isinstance(value, str) and value.isprintable())
ACCEPTED = record({"class_names": listed(NAME, 1000), "panels": listed(PANEL, 1000)})


def needs(quick: bool) -> Needs:
    """Return the points of all panels."""
    return Needs(measurements=[_points(quick)])


def answer(found: Found) -> Answer:
    """Draw the panels, and say how far the neighbours of a sample are of its own class."""
    values = found.values(_points(found.quick))
    if values is None:
        return Answer([], f"Nothing was measured on {place(found.quick)}.")
    panels, where = values["panels"], place(found.quick)
    parts = []
    for space in (HONEST, LEAKS):
        shown = [
            Panel(
                RAW if p["space"] == RAW else f"after task {p['tasks']}", p["points"], p["labels"]
            )
            for p in panels
            if p["space"] in (RAW, space)
        ]
        parts.append(Panels(f"t-SNE on {where}: {space}", shown, values["class_names"]))
    alike = {p["space"]: p["alike"] for p in panels}  # the last of each space, of all classes
    check = Check(
        f"Of the {NEIGHBOURS} nearest neighbours of a sample, {alike[HONEST]:.3f} are of its class "
        f"among the representations of all ten classes, and {alike[RAW]:.3f} among raw samples.",
        alike[HONEST] > alike[RAW] + 0.02,
    )
    return Answer([check], WHY.format(leaking=alike[LEAKS]), parts)


WHY = (
    "The representation is that of the authors' release. Fitted to the first task and then fixed, "
    "as predicting a single sample requires, it separates classes about as well as pixels do. If "
    "it is refitted to the samples of each task, the share is {leaking:.3f}: samples of one task "
    "are then close to each other and far from other tasks, regardless of their class."
)


def points(sequence: TaskSequence, per_class: int = PER_CLASS) -> dict[str, Any]:
    """Return the panels: samples of the training data, mapped to a plane by t-SNE.

    Parameters
    ----------
    sequence
        Whose first order is taken.
    per_class
        Samples of each class.
    """
    tasks = sequence.tasks(sequence.order(0, 0))
    samples = [_some(task, per_class) for task in tasks]
    model = CLSNet.demo(random_state=0).partial_fit(tasks[0].X_train, tasks[0].y_train)
    extractor = model.extractor_
    fixed = [model.transform(X) for X, _ in samples]
    refitted = [
        to_numpy(extractor.refitted(task.X_train, extractor.device).transform(X))
        for task, (X, _) in zip(tasks, samples, strict=True)
    ]
    flat = [X.reshape(len(X), -1).astype(float) for X, _ in samples]
    labels = [y for _, y in samples]
    panels = [_panel(RAW, flat, labels)]
    for space, parts in ((HONEST, fixed), (LEAKS, refitted)):
        panels += [_panel(space, parts[:t], labels[:t]) for t in range(1, len(tasks) + 1)]
    return {"class_names": list(sequence.dataset.class_names), "panels": panels}


def _some(task: Task, per_class: int) -> tuple[np.ndarray, np.ndarray]:
    rows = [np.flatnonzero(task.y_train == label)[:per_class] for label in task.classes]
    return np.asarray(task.X_train[np.concatenate(rows)]), task.y_train[np.concatenate(rows)]


def _panel(space: str, parts: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> dict[str, Any]:
    from sklearn.manifold import TSNE

    X, y = np.concatenate(parts), np.concatenate(labels)
    plane = TSNE(random_state=0, init="pca", perplexity=min(30, len(X) // 4)).fit_transform(X)
    low, high = plane.min(axis=0), plane.max(axis=0)
    return {
        "space": space,
        "tasks": len(parts),
        "points": ((plane - low) / (high - low)).round(3).tolist(),
        "labels": y.tolist(),
        "alike": _alike(X, y),
    }


def _alike(X: np.ndarray, y: np.ndarray) -> float:
    """Return the share of nearest neighbours that are of a sample's own class."""
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(X).kneighbors(return_distance=False)
    return round(float(np.mean(y[found] == y[:, None])), 4)


def _points(quick: bool) -> Measurement:
    per_class = FEW if quick else PER_CLASS
    return Measurement(
        "t-sne", place(quick), lambda sequence: points(sequence, per_class), ACCEPTED
    )


EXPERIMENT = Experiment(
    number=5,
    name="t-sne",
    module=__name__,
    title="t-SNE of samples and representations",
    place="Figure 4",
    claim="Raw samples are mixed. In the space of optimal representations, samples of a class are "
    "well clustered and different classes clearly separated, after each task.",
)
