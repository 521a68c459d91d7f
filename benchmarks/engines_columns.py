"""Learn very many classes in the processes there are; print seconds and peak memory as JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator

import numpy as np

from clsnet import CLSNet
from clsnet.arrays.ranks import joined, n_ranks, rank
from clsnet.engines.torchrun import learn_columns

ROWS = 4096


def batches(n_classes: int, dimension: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    labels = np.random.default_rng(0).permutation(n_classes)
    for number, start in enumerate(range(0, n_classes, ROWS)):
        y = labels[start : start + ROWS]
        yield np.random.default_rng(number + 1).standard_normal((len(y), dimension - 1)), y


def main() -> None:
    n_classes, dimension = map(int, sys.argv[1:])
    with joined():
        model = CLSNet(backbone="identity", connection="Z", ridge=1e-4)
        model.prepare(next(batches(5000, dimension))[0][:1000])
        start = time.perf_counter()
        if n_ranks() == 1:
            model.learn(batches(n_classes, dimension)).consolidate()
            learner = model
        else:
            learner = learn_columns(model, batches(n_classes, dimension))
            learner.model.consolidate()
        learned = time.perf_counter() - start
        X, y = next(batches(n_classes, dimension))
        right = float(np.mean(learner.predict(X[:256]) == y[:256]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        told = {"rank": rank(), "learned (s)": learned, "peak (MB)": peak, "right": right}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
