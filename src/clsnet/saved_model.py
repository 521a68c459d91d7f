"""A model as a file holds it: a header and arrays, and what these are made of again."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clsnet.arrays.devices import Array, to_device
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.calibration import Calibration
from clsnet.classifier.curvatures import CURVATURES, FewSamples
from clsnet.classifier.learned_task import LearnedTask
from clsnet.errors import ClsnetError
from clsnet.extractor import Augmentation, Extractor
from clsnet.header import Reader, plain
from clsnet.storage.schema import Misfit, check_arrays

if TYPE_CHECKING:
    from clsnet.model import Model


def arrays_of(model: Model, self_contained: bool) -> dict[str, Array]:
    """Return every stored array by name, those of a frozen network if the file holds it."""
    arrays = {f"extractor.{name}": a for name, a in model.extractor.state().items()}
    backbone = model.extractor.backbone
    if backbone.held or (self_contained and backbone.referred_mb):
        arrays |= {f"network.{name}": a for name, a in backbone.state_to_hold().items()}
    for i, trace in enumerate(model.classifier.traces.values()):
        arrays |= {f"trace.{i}.{name}": a for name, a in trace.arrays().items()}
    return {**arrays, "omega": model.classifier.omega}


def header_of(model: Model, self_contained: bool) -> dict[str, Any]:
    """Return everything of a model that is not an array."""
    extractor, classifier = model.extractor, model.classifier
    parameters = {name: plain(value) for name, value in model.parameters.items()}
    header = {
        "params": {**parameters, "cache": None},  # a cache is a folder of this machine
        "sample_shape": list(model.sample_shape),
        "backbone": plain(extractor.backbone),
        "augmentation": plain(extractor.augmentation),
        "seed": extractor.seed,
        "prepared": extractor.prepared,
        "labels": classifier.labels,
        "calibration": asdict(classifier.calibration),
        "tasks": [list(task.counts.items()) for task in classifier.tasks],
        "traces": [
            {"key": key, "labels": trace.labels, "n_samples": trace.n_samples}
            for key, trace in classifier.traces.items()
        ],
    }
    backbone = extractor.backbone
    if backbone.fingerprint:
        header["fingerprint"] = backbone.fingerprint
    if backbone.held or (self_contained and backbone.referred_mb):
        header["form"] = dict(backbone.form)
    if any(task.weights for task in classifier.tasks):
        header["weights"] = [list(task.weights.items()) for task in classifier.tasks]
    if classifier.predicts_only:
        header["predicts_only"] = True
    if model.feature_names is not None:
        header["feature_names"] = list(model.feature_names)
    if model.notes is not None:
        header["notes"] = model.notes
    return header


def restored_extractor(
    reader: Reader, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> Extractor:
    """Return the fitted extractor of a file."""
    held = "form" in header
    kind, config = reader.backbone(header["backbone"], "backbone", held=held)
    network = _below("network.", arrays)
    backbone = kind.restored(config, header["form"], network) if held else kind(**config)
    if backbone.fingerprint and backbone.fingerprint != header.get("fingerprint"):
        raise ClsnetError(f"{backbone} is not the network that this model learned with.")
    augmentation = reader.rich(header["augmentation"], "augmentation")
    if not isinstance(augmentation, Augmentation):
        raise Misfit("augmentation is not one")
    extractor = Extractor(backbone, augmentation, header["seed"])
    state = _below("extractor.", arrays)
    check_arrays({"omega": arrays["omega"]}, {"omega": (-1, len(header["labels"]))})
    extractor.dimension = len(arrays["omega"])
    extractor.prepared = header.get("prepared", False)
    extractor.check(state, tuple(header["sample_shape"]))
    extractor.restore(state)
    return extractor


def restored_classifier(
    blank: AnalyticClassifier, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> AnalyticClassifier:
    """Return a classifier that has learned nothing yet with all that a file remembers."""
    traces = {}
    for i, saved in enumerate(header["traces"]):
        parts = _below(f"trace.{i}.", arrays)
        kind: Any = FewSamples if "rows" in parts else CURVATURES[blank.rule.curvature]
        shapes = kind.shapes(blank.dimension, len(saved["labels"]))
        check_arrays(parts, shapes, f"trace.{i}.", dtypes=("float64",))
        traces[saved["key"]] = kind(
            labels=saved["labels"],
            n_samples=saved["n_samples"],
            **{name: to_device(value, blank.device) for name, value in parts.items()},
        )
    counts = [dict(map(tuple, pairs)) for pairs in header["tasks"]]
    weights = [dict(map(tuple, pairs)) for pairs in header.get("weights", [()] * len(counts))]
    return replace(
        blank,
        labels=header["labels"],
        omega=to_device(arrays["omega"], blank.device),
        traces=traces,
        tasks=list(map(LearnedTask, counts, weights)),
        calibration=_calibration_from(header),
        predicts_only=header.get("predicts_only", False),
    )


def _calibration_from(header: dict[str, Any]) -> Calibration:
    """Return how scores become probabilities; older files know the noise of scores only."""
    if "calibration" in header:
        return Calibration(**header["calibration"])
    return Calibration.of_noise(header["noise"])


def _below(start: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)}
