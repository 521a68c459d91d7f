"""The header of a model's file: parameters as JSON holds them, and what each value may be.

A header may come from anybody. It can choose among what clsnet itself provides. It can only name
what other packages provide, and networks that are stored elsewhere; the user has to allow these.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.classifier.calibration import Calibration
from clsnet.classifier.forgetting import ForgettingPolicy, policy_class
from clsnet.classifier.forgetting.registry import BUILT_IN
from clsnet.classifier.rule import TOTAL, Rule
from clsnet.errors import ClsnetError
from clsnet.extractor import Augmentation, Backbone
from clsnet.extractor.backbones import backbone_class, is_registered
from clsnet.extractor.backbones.references import allowed_by, reference, referred
from clsnet.storage import model_file
from clsnet.storage.schema import (
    ANYTHING,
    FLAG,
    NOTHING,
    Misfit,
    arguments,
    listed,
    mapped,
    number,
    record,
    row,
    shown,
    text,
    whole,
)

MOST = 10**6  # classes, and tasks
MOST_PIXELS = 1 << 24
LABEL = text() | whole(-(2**63), 2**64) | number() | FLAG
SIZE = number(0, 1e18, above=True)
NAMED = record({"backbone": text(), "config": mapped(ANYTHING)})
HEADER = record(
    {
        "params": record({}, {"retain": Rule.accepts["retain"]}, closed=False),
        "sample_shape": listed(whole(1, MOST_PIXELS), most=3, least=1),
        "backbone": NAMED,
        "augmentation": mapped(ANYTHING),
        "seed": whole(0, 2**32 - 1),
        "labels": listed(LABEL, MOST),
        "tasks": listed(listed(row(LABEL, whole(1, 2**53)), MOST), MOST),
        "traces": listed(
            record({"key": LABEL, "labels": listed(LABEL, MOST), "n_samples": SIZE}), MOST
        ),
    },
    {
        "calibration": arguments(Calibration, Calibration.accepts),
        "noise": number(0),  # of version 0.1
        "prepared": FLAG,
        "fingerprint": text(100),
        "form": mapped(ANYTHING),
        "predicts_only": FLAG,
        "weights": listed(listed(row(LABEL, SIZE), MOST), MOST),
        "feature_names": listed(text(), MOST_PIXELS),
        "notes": mapped(ANYTHING),
    },
)
PARAMETERS = record(
    {},
    {
        **Rule.accepts,
        "short_term": listed(whole(0, MOST), MOST),
        "queue": whole(1, MOST) | NOTHING,
    },
    closed=False,
)


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the header and the arrays of a model, with every value of the header checked."""
    header, arrays = model_file.read(path)
    try:
        HEADER.check(header, "the header")
        _check_classes(header)
        _check_samples(header)
        _check_names(arrays)
    except Misfit as error:
        raise damaged(path, error) from None
    return header, arrays


def damaged(path: Path, misfit: Misfit) -> ClsnetError:
    """Return the error that says what is wrong in a file."""
    return ClsnetError(f"{path} is damaged or was not written by clsnet: {misfit}.")


def plain(value: Any) -> Any:
    """Write a parameter so that JSON can hold it."""
    if isinstance(value, Backbone):
        if not is_registered(value):
            raise ClsnetError(f"a model with the unregistered backbone {value} cannot be saved.")
        config = {name: plain(option) for name, option in value.config.items()}
        return {"backbone": value.name, "config": config}
    if isinstance(value, Augmentation):
        return {"augmentation": value.config}
    if isinstance(value, ForgettingPolicy):
        config = {name: plain(option) for name, option in value.config.items()}
        return {"forgetting": value.name, "config": config}
    if isinstance(value, Mapping):
        return {"dict": [[plain(key), plain(item)] for key, item in value.items()]}
    if isinstance(value, (tuple, set, frozenset, range)):
        return {"tuple": [plain(item) for item in value]}
    if value is None or isinstance(value, (bool, int, float, str, list)):
        return value
    return value.tolist() if hasattr(value, "tolist") else None


class Reader:
    """Restores the values of a header, and nothing that the user did not allow.

    Parameters
    ----------
    path
        The file, for messages.
    allow
        What the header may refer to: names of networks, as ``backbone=`` takes them, and of
        forgetting policies of other packages.
    """

    def __init__(self, path: Path, allow: str | Collection[str]) -> None:
        self.path = path
        self.allowed = allowed_by(allow)

    def rich(self, value: Any, where: str) -> Any:
        """Return the value that `plain` wrote."""
        if isinstance(value, list):
            return [self.rich(item, where) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"dict"}:
            listed(row(LABEL, ANYTHING), MOST).check(value["dict"], where)
            return {key: self.rich(item, where) for key, item in value["dict"]}
        if value.keys() == {"tuple"}:
            listed(ANYTHING, MOST).check(value["tuple"], where)
            return tuple(self.rich(item, where) for item in value["tuple"])
        if value.keys() == {"augmentation"}:
            arguments(Augmentation, Augmentation.accepts).check(value["augmentation"], where)
            return Augmentation(**value["augmentation"])
        if value.keys() == {"forgetting", "config"}:
            return self._policy(value, where)
        kind, config = self.backbone(value, where)
        return kind(**config)

    def parameters(self, header: Mapping[str, Any], backbone: Backbone) -> dict[str, Any]:
        """Return the parameters of a model; a network that the file holds is its backbone."""
        held, saved = "form" in header, with_views(header["params"])
        others = {name: value for name, value in saved.items() if name != "backbone"}
        found = {name: self.rich(value, f"params.{name}") for name, value in others.items()}
        PARAMETERS.check(found, "params")
        if isinstance(found.get("forgetting"), str):
            self._check_policy(found["forgetting"])
        named = saved.get("backbone", "auto")
        if isinstance(named, str) and not held:
            self._check_allowed(referred(named), "network")
        same = held and named == header["backbone"]
        found["backbone"] = backbone if same else self.rich(named, "params.backbone")
        return {name: found[name] for name in {**saved, "backbone": None}}  # in the same order

    def backbone(
        self, saved: Any, where: str, *, held: bool = False
    ) -> tuple[type[Backbone], dict[str, Any]]:
        """Return the class of a backbone, and the arguments of its constructor.

        Parameters
        ----------
        saved
            What `plain` wrote.
        where
            Its place in the header.
        held
            Whether the file holds its network: then one of ours refers to nothing.
        """
        NAMED.check(saved, where)
        name, config = saved["backbone"], with_views(saved["config"])
        config = {key: self.rich(value, f"{where}.{key}") for key, value in config.items()}
        if not (held and name == "resnet"):
            self._check_allowed(reference(name, config), "network")
        kind = backbone_class(name)
        arguments(kind, kind.accepts).check(config, where)
        return kind, config

    def _policy(self, saved: Mapping[str, Any], where: str) -> ForgettingPolicy:
        text().check(saved["forgetting"], where)
        mapped(ANYTHING).check(saved["config"], where)
        self._check_policy(saved["forgetting"])
        kind = policy_class(saved["forgetting"])
        config = {name: self.rich(value, where) for name, value in saved["config"].items()}
        arguments(kind, kind.accepts).check(config, where)
        return kind(**config)

    def _check_policy(self, name: str) -> None:
        self._check_allowed("" if name in BUILT_IN else name, "forgetting policy")

    def _check_allowed(self, name: str, what: str) -> None:
        if name and name not in self.allowed:
            raise ClsnetError(
                f"{self.path} refers to the {what} {shown(name, 200)}; if you trust it, allow it "
                "by --allow-network, or by allow= in Python."
            )


def with_views(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a network, of which the first format knew only `mirror`."""
    if "mirror" not in options or "taps" not in options:
        return dict(options)
    others = {name: value for name, value in options.items() if name != "mirror"}
    return {**others, "views": 2 if options["mirror"] else 1}


def _check_classes(header: Mapping[str, Any]) -> None:
    """Refuse labels, tasks and traces that contradict each other."""
    labels, tasks, traces = header["labels"], header["tasks"], header["traces"]
    weights = header.get("weights", tasks)
    if len(set(labels)) < len(labels) or len({isinstance(one, str) for one in labels}) > 1:
        raise Misfit("labels are repeated, or mix text and numbers")
    if any(isinstance(one, str) and one.endswith("\0") for one in labels):
        raise Misfit("a label ends with a NUL")
    if len(weights) != len(tasks):
        raise Misfit("there are not as many weights as tasks")
    groups = [[label for label, _ in task] for task in (*tasks, *weights)]
    for group in (*groups, *(trace["labels"] for trace in traces)):
        if len(set(group)) < len(group) or not set(group) <= set(labels):
            raise Misfit("a task or trace has a class twice, or one that is not among the labels")
    retain = header["params"].get("retain", TOTAL)
    expected: list[Any] = [TOTAL] if labels or traces else []
    if header.get("predicts_only", False):
        expected = []
    elif retain in ("tasks", "classes"):
        expected = labels if retain == "classes" else [i for i, task in enumerate(tasks) if task]
    keys = [trace["key"] for trace in traces]
    if len(keys) != len(expected) or set(map(_exact, keys)) != set(map(_exact, expected)):
        raise Misfit("the keys of traces are not those of what was learned")


def _check_samples(header: Mapping[str, Any]) -> None:
    shape, names = header["sample_shape"], header.get("feature_names")
    if math.prod(shape) > MOST_PIXELS:
        raise Misfit(f"sample_shape is {shape}, more than {MOST_PIXELS:,} numbers")
    if names is not None and [len(names)] != shape:
        raise Misfit("there are not as many feature_names as columns")
    if ("calibration" in header) == ("noise" in header):
        raise Misfit("the header has no 'calibration'")


def _check_names(arrays: Mapping[str, np.ndarray]) -> None:
    for name in arrays:
        if name != "omega" and not name.startswith(("extractor.", "network.", "trace.")):
            raise Misfit(f"there is an unknown array {shown(name)}")
    if "omega" not in arrays or arrays["omega"].ndim != 2:
        raise Misfit("there is no matrix omega")


def _exact(key: Any) -> tuple[type, Any]:
    return type(key), key
