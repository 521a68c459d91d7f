"""Made-up runs of one method, and what is found of them."""

from typing import Any

import numpy as np

from clsnet.evaluation.answers import Answers
from clsnet.evaluation.protocol import Outcome
from clsnet.experiments.found import Found
from clsnet.experiments.needs import Needed

SAMPLES = 1000


def run(
    needed: Needed, accuracy: float, order: int = 0, seed: int = 0, **more: Any
) -> dict[str, Any]:
    """Return a run as its file holds it; every task is recognised as well as the others."""
    sequence = needed.sequences[-1]
    tasks = int(sequence.rpartition("/")[2])
    R = more.pop("R", [[accuracy] * (t + 1) for t in range(tasks)])
    options = {k: list(v) if isinstance(v, tuple) else v for k, v in needed.options.items()}
    if needed.network:
        options["backbone"] = more.pop("backbone", f"seed{seed}/{needed.network}.safetensors")
    right = np.arange(SAMPLES) < round(accuracy * SAMPLES)
    return {
        "sequence": sequence,
        "method": needed.method,
        "config": {"preset": needed.preset, "tune": needed.tune, **options},
        "order": [[order, t] for t in range(tasks)],
        "seed": seed,
        "protocol": needed.protocol,
        "R": R,
        "independent": [1.0] * tasks,
        **Outcome(R, [1.0] * tasks, {}, {}).metrics(),
        "answers": Answers(np.ones(SAMPLES, dtype=bool), right, "4d1a").packed(),
        "order_free": False,
        "seconds": {"learn": 2.0, "predict": 1.0},
        "memory": {"model_mb": 3.0, "exemplar_mb": 0.0},
        "environment": {"gpu": "none", "threads": "1"},
        "format": 1,
        "version": "0.2.0",
        **more,
    }


def found(*runs: dict[str, Any], quick: bool = False, **more: Any) -> Found:
    """Return what is found of runs."""
    return Found.of(quick, runs, **more)


def orders(needed: Needed, *accuracies: float, **more: Any) -> list[dict[str, Any]]:
    """Return a run for each order."""
    return [run(needed, accuracy, order, **more) for order, accuracy in enumerate(accuracies)]
