"""What else could stay plastic beside the classifier, on TinyImageNet-100/10.

    python benchmarks/plasticity.py --data DIR --backbone base.safetensors [--cache DIR]

Every row learns the ten tasks in one order, without exemplars, and is tested on all of them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clsnet import CLSNet
from clsnet.arrays.devices import namespace, resolve_device, to_numpy
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.rule import regress
from clsnet.data import load_sequence
from clsnet.estimator.presets import network_augmentation
from clsnet.evaluation.store import environment
from clsnet.extractor.backbones import ResNet
from clsnet.extractor.backbones.weights import read_weights, write_weights
from clsnet.methods.common.residual import Residual
from clsnet.pretraining.augment import TURNS
from clsnet.pretraining.feeding import Feed, room
from clsnet.pretraining.loop import train
from clsnet.pretraining.supervised import Supervised

SEQUENCE = "TinyImageNet-100/10"
EPOCHS = 10


def learned(tasks: Any, **options: Any) -> CLSNet:
    model = CLSNet(**options)
    for task in tasks:
        model.partial_fit(task.X_train, task.y_train)
    return model


def accuracy(tasks: Any, predict: Callable[[Any], np.ndarray]) -> float:
    return float(np.mean([np.mean(predict(task.X_test) == task.y_test) for task in tasks]))


def adapted(task: Any, backbone: Path, share: float, out: Path) -> Path:
    """Train all layers on the first task, at a share of pretraining's rate; return new weights."""

    class Adapting(Supervised):
        rate = share * Supervised.rate
        turn = share * Supervised.turn

    about, state = read_weights(backbone)
    device = torch.device(resolve_device("auto"))
    depth = int(about.network.removeprefix("resnet"))
    torch.manual_seed(0)
    network = Residual(depth, about.small, TURNS * len(task.classes))
    body = {k: torch.from_numpy(a) for k, a in state.items() if not k.startswith("fc.")}
    network.load_state_dict(body, strict=False)
    objective = Adapting(network, about.mean, about.deviation)
    objective.to(device).to(memory_format=torch.channels_last)
    codes = np.unique(task.y_train, return_inverse=True)[1]
    feed = Feed(task.X_train, codes, about.size, device, room(device))
    nothing = Feed(task.X_train[:0], codes[:0], about.size, device, room(device))
    train(objective, feed, nothing, EPOCHS, seed=0)
    path = out / f"adapted-{share}.safetensors"
    write_weights(path, dataclasses.replace(about, accuracy=None), network.state_dict())
    return path


def refitted(model: CLSNet, power: float) -> Callable[[Any], np.ndarray]:
    """Refit a linear map of Z to the second moments of all tasks, and solve behind it.

    The map goes along the eigenvectors of the accumulated Gram matrix, each scaled by its
    eigenvalue to ``-power``; with 0 it is the identity. As it is linear, the sums that are kept
    can be moved through it, and nothing is lost.
    """
    model.consolidate()
    classifier = model.classifier_
    [total] = classifier.traces.values()
    xp = namespace(total.gram)
    values, vectors = xp.linalg.eigh(total.gram)
    moved = vectors * xp.clip(values, 1e-9 * float(values[-1])) ** -power
    sums = NormalEquations(
        moved.T @ total.gram @ moved, moved.T @ total.columns(classifier.labels), total.n_samples
    )
    omega = moved @ regress(sums).omega
    labels = np.array(classifier.labels)

    def predict(X: Any) -> np.ndarray:
        scores = xp.astype(model.extractor_.transform(X), xp.float64) @ omega
        return np.asarray(labels[to_numpy(scores).argmax(axis=1)])

    return predict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--backbone", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/bench/plasticity.json"))
    given = parser.parse_args()
    sequence = load_sequence(SEQUENCE, given.data)
    tasks = sequence.tasks(sequence.order(0, 0))
    options = {"backbone": str(given.backbone), "cache": given.cache}
    found: dict[str, float] = {}

    def say(name: str, value: float) -> None:
        found[name] = round(value, 4)
        print(f"{value:.4f}  {name}", flush=True)
        record = {"sequence": SEQUENCE, "avg_acc": found, "environment": environment()}
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(record, indent=1) + "\n")

    say("the default", accuracy(tasks, learned(tasks, **options).predict))
    plain = ResNet(str(given.backbone))
    behind = learned(
        tasks,
        backbone=plain,
        augmentation=network_augmentation("fast", plain),
        cache=given.cache,
    )
    say("3,000 nodes behind the features, not at every place", accuracy(tasks, behind.predict))
    linear = learned(tasks, preset="small", **options)
    say("no nodes", accuracy(tasks, linear.predict))
    for power, name in ((0.25, "half whitened"), (0.5, "whitened")):
        predict = refitted(linear, power)
        say(f"no nodes, map refitted to all second moments: {name}", accuracy(tasks, predict))
    with tempfile.TemporaryDirectory() as folder:
        for share in (0.01, 0.1, 1.0):
            weights = adapted(tasks[0], given.backbone, share, Path(folder))
            model = learned(tasks, backbone=str(weights))
            name = f"network adapted to the first task, {share} of the rate of pretraining"
            say(name, accuracy(tasks, model.predict))
    say("no mirror images", accuracy(tasks, learned(tasks, **options, views=1).predict))


if __name__ == "__main__":
    main()
