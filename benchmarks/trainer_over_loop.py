"""One epoch of fine-tuning in the shared trainer, over a bare PyTorch loop of the same network.

    python benchmarks/trainer_over_loop.py [--data DIR] [--out results/bench/trainer_over_loop.json]

Both train 784-900-900-10 on all of Fashion-MNIST by SGD in batches of 100. They take turns, and
the ratio is the median over rounds, since other work on the machine slows both alike.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from clsnet.data import load_dataset
from clsnet.evaluation.store import environment
from clsnet.methods.none import FineTuning

ROUNDS = 5


def trainer(X: np.ndarray, y: np.ndarray) -> None:
    FineTuning(epochs=1, device="cpu").partial_fit(X, y)


def bare_loop(X: np.ndarray, y: np.ndarray) -> None:
    x = torch.from_numpy(X).flatten(1).float() / 255
    labels = torch.from_numpy(y)
    net = nn.Sequential(
        nn.Linear(784, 900), nn.ReLU(), nn.Linear(900, 900), nn.ReLU(), nn.Linear(900, 10)
    )
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    order = torch.randperm(len(x))
    for start in range(0, len(x), 100):
        rows = order[start : start + 100]
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x[rows]), labels[rows]).backward()
        optimiser.step()


def seconds(run, X: np.ndarray, y: np.ndarray) -> float:
    start = time.perf_counter()
    run(X, y)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/bench/trainer_over_loop.json"))
    arguments = parser.parse_args()
    data = load_dataset("FashionMNIST", arguments.data)
    bare_loop(data.X_train[:5000], data.y_train[:5000])
    ratios = []
    for _ in range(ROUNDS):
        ours, theirs = (seconds(run, data.X_train, data.y_train) for run in (trainer, bare_loop))
        ratios.append(ours / theirs)
        print(f"trainer {ours:.2f} s, bare loop {theirs:.2f} s, ratio {ratios[-1]:.3f}")
    found = {
        "trainer_over_loop": statistics.median(ratios),
        "rounds": ratios,
        "command": "python benchmarks/trainer_over_loop.py",
        "environment": environment(),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"one epoch in the trainer over a bare loop: {found['trainer_over_loop']:.3f}")


if __name__ == "__main__":
    main()
