"""Pretraining and ten tasks of TinyImageNet-100/10, in seconds and Avg Acc, without a cache.

    python benchmarks/tiny_imagenet.py --data DIR [--epochs 40 150]

Seconds of pretraining are those of the whole command; of learning, what the model spends on it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from clsnet.evaluation.store import environment, read_runs

SEQUENCE = "TinyImageNet-100/10"


def measured(data: Path, epochs: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:

        def clsnet(command: str, *options: str) -> None:
            call = [sys.executable, "-m", "clsnet", command, SEQUENCE, "--data", str(data)]
            subprocess.run([*call, *options], cwd=folder, check=True)

        start = time.perf_counter()
        weights = "base.safetensors"
        clsnet("pretrain", "--backbone", "resnet18", "--epochs", str(epochs), "--out", weights)
        pretraining = time.perf_counter() - start
        clsnet("bench", "--backbone", weights, "--jobs", "1", "--out", "results")
        [run] = read_runs(Path(folder, "results"))
    learning = run["seconds"]["learn"]
    return {
        "pretraining (s)": round(pretraining, 1),
        "learning ten tasks (s)": round(learning, 1),
        "both (s)": round(pretraining + learning, 1),
        "Avg Acc": round(run["avg_acc"], 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epochs", type=int, nargs="+", default=[40, 150])
    parser.add_argument("--out", type=Path, default=Path("results/bench/tiny_imagenet.json"))
    given = parser.parse_args()
    runs = {f"{epochs} epochs": measured(given.data.absolute(), epochs) for epochs in given.epochs}
    record = {"sequence": SEQUENCE, "runs": runs, "environment": environment()}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
