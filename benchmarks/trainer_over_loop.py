"""One epoch of fine-tuning in the shared trainer, over a bare PyTorch loop of the same network.

    python benchmarks/trainer_over_loop.py [--data DIR] [--out results/bench/trainer_over_loop.json]

Both train the same network on Fashion-MNIST by SGD in batches of 100: the perceptron 784-900-900-10
on all images, and a ResNet-18, tuned from given weights, on images that are mirrored and shifted.
Trainer and loop take turns on one thread. Seconds are CPU time, which other work on the machine
disturbs least, and the ratio is the median over rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.data import load_dataset
from clsnet.evaluation.store import environment
from clsnet.extractor.backbones.weights import About, write_weights
from clsnet.methods.common.residual import Residual
from clsnet.methods.common.trainer import TUNED_MOMENTUM
from clsnet.methods.common.tuned import moved, pretrained_body
from clsnet.methods.none import FineTuning

ROUNDS = 5
BATCH = 100
IMAGES = 1000  # of the residual network: a few seconds each round


def bare_loop(
    net: nn.Module,
    x: Tensor,
    y: Tensor,
    optimiser: torch.optim.Optimizer,
    vary: Callable[[Tensor], Tensor] = lambda x: x,
) -> None:
    net.train()
    order = torch.randperm(len(x))
    for start in range(0, len(x), BATCH):
        rows = order[start : start + BATCH]
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(vary(x[rows])), y[rows]).backward()
        optimiser.step()


def perceptron_in_trainer(X: np.ndarray, y: np.ndarray) -> None:
    FineTuning(epochs=1, device="cpu").partial_fit(X, y)


def perceptron_in_loop(X: np.ndarray, y: np.ndarray) -> None:
    x = torch.from_numpy(X).flatten(1).float() / 255
    net = nn.Sequential(
        *(nn.Linear(784, 900), nn.ReLU(), nn.Linear(900, 900), nn.ReLU(), nn.Linear(900, 10))
    )
    bare_loop(net, x, torch.from_numpy(y), torch.optim.SGD(net.parameters(), lr=0.1))


def residual_in_trainer(file: str, X: np.ndarray, y: np.ndarray) -> None:
    FineTuning(epochs=1, device="cpu", backbone=file, form="tuned").partial_fit(X, y)


def residual_in_loop(file: str, X: np.ndarray, y: np.ndarray) -> None:
    body, width = pretrained_body(file)
    net = nn.Sequential(body, nn.Linear(width, 10))
    optimiser = torch.optim.SGD(net.parameters(), lr=0.02, momentum=TUNED_MOMENTUM)
    random = torch.Generator().manual_seed(0)
    images = torch.from_numpy(X)[:, None]
    bare_loop(net, images, torch.from_numpy(y), optimiser, lambda x: moved(x, random))


def write_resnet18(file: str) -> None:
    """Write a ResNet-18 of random weights, as ``clsnet pretrain`` would."""
    about = About(
        "resnet18", True, 28, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25), "supervised", "none", ()
    )
    state = Residual(18, True, 10).state_dict()
    write_weights(Path(file), about, {name: tensor.numpy() for name, tensor in state.items()})


def ratios(trainer: Callable[[], None], loop: Callable[[], None]) -> list[float]:
    """Return seconds of the trainer over those of the loop, for each round."""
    found = []
    for _ in range(ROUNDS):
        seconds = []
        for run in (trainer, loop):
            start = time.process_time()
            run()
            seconds.append(time.process_time() - start)
        found.append(seconds[0] / seconds[1])
        print(f"trainer {seconds[0]:.2f} s, loop {seconds[1]:.2f} s, ratio {found[-1]:.3f}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/bench/trainer_over_loop.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    data = load_dataset("FashionMNIST", arguments.data)
    X, y = data.X_train, data.y_train
    perceptron_in_loop(X[:5000], y[:5000])
    perceptron = ratios(lambda: perceptron_in_trainer(X, y), lambda: perceptron_in_loop(X, y))
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/resnet18.safetensors"
        write_resnet18(file)
        some = X[:IMAGES], y[:IMAGES]
        residual_in_loop(file, X[:BATCH], y[:BATCH])
        residual = ratios(
            lambda: residual_in_trainer(file, *some), lambda: residual_in_loop(file, *some)
        )
    found = {
        "trainer_over_loop": statistics.median(perceptron),
        "rounds": perceptron,
        "resnet18_trainer_over_loop": statistics.median(residual),
        "resnet18_rounds": residual,
        "command": "python benchmarks/trainer_over_loop.py",
        "environment": environment(),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"perceptron: {found['trainer_over_loop']:.3f}")
    print(f"ResNet-18: {found['resnet18_trainer_over_loop']:.3f}")


if __name__ == "__main__":
    main()
