"""Learn Fashion-MNIST with as many processes as ``torchrun`` started; print the seconds it took.

Images are represented, summed up and solved for; the extractor is fixed before the clock starts.
"""

from __future__ import annotations

import time

import numpy as np

from clsnet import CLSNet
from clsnet.arrays.ranks import add_up, joined, rank
from clsnet.data import load_dataset

IMAGES, TASKS = 40_000, 5


def main() -> None:
    with joined():
        data = load_dataset("FashionMNIST")
        X, y = data.X_train[:IMAGES], data.y_train[:IMAGES]
        model = CLSNet(preset="fast", device="cpu").prepare(X)
        add_up(np.zeros(1))  # all are there
        start = time.perf_counter()
        for task in range(TASKS):
            model.partial_fit(X[y % TASKS == task], y[y % TASKS == task])
        model.consolidate()
        if rank() == 0:
            print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
