"""A model as a header that JSON can hold and a flat set of tensors, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from clsnet.classifier.analytic import AnalyticClassifier, Rule, Task
from clsnet.classifier.curvatures.full import TRACES, FewSamples
from clsnet.errors import ClsnetError
from clsnet.extractor import Augmentation, Backbone, Extractor
from clsnet.extractor.backbones import BACKBONES, Network

if TYPE_CHECKING:
    from clsnet.estimator.clsnet import CLSNet


def tensors_of(
    extractor: Extractor, classifier: AnalyticClassifier, held: bool = False
) -> dict[str, Tensor]:
    """Return every stored number by name, those of a frozen network if it is to be held."""
    tensors = {f"extractor.{name}": value for name, value in extractor.state_dict().items()}
    backbone = extractor.backbone
    if isinstance(backbone, Network) and (held or backbone.held):
        weights = backbone.state_to_hold()
        tensors |= {f"network.{name}": value.clone() for name, value in weights.items()}
    for i, trace in enumerate(classifier.traces.values()):
        tensors |= {f"trace.{i}.{name}": value for name, value in trace.tensors().items()}
    return {**tensors, "omega": classifier.omega}


def header_of(model: CLSNet, held: bool = False) -> dict[str, Any]:
    """Return everything about a model that is not a tensor."""
    extractor, classifier = model.extractor_, model.classifier_
    params = {name: _plain(value) for name, value in model.get_params(deep=False).items()}
    params["cache"] = None  # a folder of this machine
    header = {
        "params": params,
        "sample_shape": list(model.sample_shape_),
        "backbone": _plain(extractor.backbone),
        "augmentation": _plain(extractor.augmentation),
        "seed": extractor.seed,
        "labels": classifier.labels,
        "noise": classifier.noise,
        "tasks": [list(task.counts.items()) for task in classifier.tasks],
        "traces": [
            {"key": key, "labels": trace.labels, "n_samples": trace.n_samples}
            for key, trace in classifier.traces.items()
        ],
    }
    backbone = extractor.backbone
    if isinstance(backbone, Network):
        header["fingerprint"] = backbone.fingerprint
        if held or backbone.held:
            header["form"] = dict(backbone.form)
    if hasattr(model, "feature_names_in_"):
        header["feature_names"] = model.feature_names_in_.tolist()
    if hasattr(model, "notes_"):
        header["notes"] = model.notes_
    return header


def params_from(header: dict[str, Any], extractor: Extractor) -> dict[str, Any]:
    """Return the constructor arguments; a network that the file holds is the extractor's."""
    params = _with_views(header["params"])
    if "form" in header and params["backbone"] == header["backbone"]:
        params = {**params, "backbone": extractor.backbone}
    return {name: _rich(value) for name, value in params.items()}


def extractor_from(header: dict[str, Any], tensors: dict[str, Tensor]) -> Extractor:
    """Return the fitted extractor."""
    backbone = _held_network(header, tensors) if "form" in header else _rich(header["backbone"])
    if isinstance(backbone, Network) and backbone.fingerprint != header["fingerprint"]:
        raise ClsnetError(f"{backbone} is not the network that this model learned with.")
    extractor = Extractor(backbone, _rich(header["augmentation"]), header["seed"])
    modules = dict(extractor.named_modules())
    for name, value in tensors.items():
        if name.startswith("extractor."):
            path, _, leaf = name.removeprefix("extractor.").rpartition(".")
            setattr(modules[path], leaf, value)
    extractor.dimension = len(tensors["omega"])
    return extractor


def classifier_from(
    header: dict[str, Any], tensors: dict[str, Tensor], rule: Rule, device: torch.device
) -> AnalyticClassifier:
    """Return the classifier with all that it remembers."""
    traces = {}
    for i, saved in enumerate(header["traces"]):
        start = f"trace.{i}."
        parts = {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}
        kind = FewSamples if "rows" in parts else TRACES[rule.curvature]
        traces[saved["key"]] = kind(
            labels=saved["labels"],
            n_samples=saved["n_samples"],
            **{name: value.to(device) for name, value in parts.items()},
        )
    omega = tensors["omega"].to(device)
    return AnalyticClassifier(
        rule=rule,
        dimension=len(omega),
        device=device,
        labels=header["labels"],
        omega=omega,
        traces=traces,
        tasks=[Task(dict(map(tuple, counts))) for counts in header["tasks"]],
        noise=header["noise"],
    )


def _held_network(header: dict[str, Any], tensors: dict[str, Tensor]) -> Network:
    saved = header["backbone"]
    kind = BACKBONES[saved["backbone"]]
    assert issubclass(kind, Network)
    start = "network."
    state = {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}
    config = {name: _rich(option) for name, option in saved["config"].items()}
    return kind.restored(config, header["form"], state)


def _plain(value: Any) -> Any:
    """Write a parameter so that JSON can hold it."""
    if isinstance(value, Backbone):
        if BACKBONES.get(value.name) is not type(value):
            raise ClsnetError(f"a model with the unregistered backbone {value} cannot be saved.")
        config = {name: _plain(option) for name, option in value.config.items()}
        return {"backbone": value.name, "config": config}
    if isinstance(value, Augmentation):
        return {"augmentation": value.config}
    if isinstance(value, (tuple, set, frozenset, range)):
        return {"tuple": list(value)}
    if value is None or isinstance(value, (bool, int, float, str, list)):
        return value
    return value.tolist() if hasattr(value, "tolist") else None


def _rich(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(value["tuple"])
    if "augmentation" in value:
        return Augmentation(**value["augmentation"])
    kind = BACKBONES[value["backbone"]]
    config = {name: _rich(option) for name, option in value["config"].items()}
    return kind(**(_with_views(config) if issubclass(kind, Network) else config))


def _with_views(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a network, of which the first format knew only `mirror`."""
    if "mirror" not in options:
        return options
    others = {name: value for name, value in options.items() if name != "mirror"}
    return {**others, "views": 2 if options["mirror"] else 1}
