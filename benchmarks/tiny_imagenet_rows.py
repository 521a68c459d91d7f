"""The rows of TinyImageNet-100 for one network: pretraining, then the methods.

    python benchmarks/tiny_imagenet_rows.py --data DIR --seed 61 [--epochs 40] [ROW ...]

Rows are the folders of `results/tiny-40` and `results/tiny-150`; a name that ends with -5 is the
row in five tasks instead of ten. Without names, all are made. Each is one `clsnet bench`, and as
many run at once as `--at-once` says. What is finished is kept, so the same command resumes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

ORDERS = 5
REGULARISED = ("ewc", "si", "mas")
ON_FEATURES = (
    *("none", "joint", *REGULARISED, "owm", "intercontinet", "dmc", "gem", "il2m", "rm", "ari"),
    *("icarl", "der", "memo", "foster", "logd", "fs-dgpm", "spacenet", "eft", "pcl", "rps-net"),
    *("bir", "rtf", "i-ctrl", "dytox"),
)


@dataclass(frozen=True)
class Row:
    """One `clsnet bench`: methods, their options, and how many orders tell them apart."""

    methods: Sequence[str]
    options: Sequence[str] = ()
    orders: int = 1
    preset: str = "fast"
    tasks: int = 10
    cached: bool = True
    tune: bool = False
    folder: str = ""

    def arguments(self) -> list[str]:
        """Return what `clsnet bench` is called with."""
        named = [("--method", name) for name in self.methods]
        named += [("--option", option) for option in self.options]
        found = [f"TinyImageNet-100/{self.tasks}", *(word for pair in named for word in pair)]
        found += ["--preset", self.preset, "--orders", str(self.orders)]
        return [*found, "--tune"] if self.tune else found


ROWS = {
    "fast": Row(("clsnet", "slda", "ncm", "fecam")),
    "fast-ridgegcv": Row(("clsnet",), ("ridge=gcv",)),
    "fast-views8": Row(("clsnet",), ("views=8",)),
    "best": Row(("clsnet",), preset="best"),
    "fast-nodes10000": Row(("ranpac", "ds-al", "acil"), ("nodes=10000",), ORDERS),
    "fast-klda": Row(("klda",), ("gamma=1e-06", "ridge=0.001")),
    "fast-anacp": Row(("anacp",), ("ridge=10.0", "shrinkage=1e-05")),
    "fast-air": Row(("air",), ("nodes=5000",)),
    "fast-loranpac": Row(("loranpac",), ("nodes=10000", "rank=2000"), ORDERS),
    "logistic": Row(("logistic",), tasks=1),
    "paper": Row(("clsnet-paper",), ("gamma=1000000.0", "ridge=0.01"), 3),
    "paper-tuned": Row(("clsnet-paper",), tune=True),
    "frozen": Row(ON_FEATURES, orders=3),
    "frozen-own-outputs": Row(REGULARISED, ("own_outputs=True",), 3),
    "tuned": Row(
        ("none", "icarl", "der", "memo", "foster", "rm", "ewc", "remind"),
        ("form=tuned", "epochs=4"),
        cached=False,
    ),
    "joint": Row(("joint-finetuned",), tasks=1, cached=False),
}
IN_FIVE = ("fast", "paper", "frozen")
ROWS |= {f"{name}-5": replace(ROWS[name], tasks=5, folder=name) for name in IN_FIVE}


def clsnet(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "clsnet", *words], check=True)


def bench(
    rows: Mapping[str, Row], name: str, network: Path, out: Path, jobs: int, seed: int, data: Path
) -> str:
    """Make one row; return why it failed, or nothing."""
    row = rows[name]
    words = [*row.arguments(), "--backbone", str(network), "--jobs", str(jobs)]
    place = out / (row.folder or name) / f"seed{seed}"
    words += ["--seed", str(seed), "--data", str(data), "--out", str(place)]
    try:
        clsnet("bench", *words, *(["--cache", f"{network}.features"] if row.cached else []))
    except subprocess.CalledProcessError as error:
        return f"{name}: exit status {error.returncode}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0, help="of the base classes and the network")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--networks", type=Path, default=Path("networks"))
    parser.add_argument("--out", type=Path, help="results/tiny-EPOCHS, if it is not given")
    parser.add_argument("--orders", type=int, default=ORDERS, help="at most, of each method")
    parser.add_argument("--at-once", type=int, default=1, help="rows that run at the same time")
    parser.add_argument("--jobs", type=int, default=1, help="runs of a row at the same time")
    given = parser.parse_args()
    unknown = sorted(set(given.rows) - set(ROWS))
    if unknown:
        parser.error(f"unknown row {unknown[0]!r}: use {', '.join(ROWS)}")
    out = given.out or Path(f"results/tiny-{given.epochs}")
    network = given.networks / f"seed{given.seed}" / f"resnet18-{given.epochs}.safetensors"
    network.parent.mkdir(parents=True, exist_ok=True)
    place = ("--data", str(given.data), "--seed", str(given.seed))
    if not network.exists():
        size = ("--epochs", str(given.epochs), "--out", str(network))
        clsnet("pretrain", "TinyImageNet-100/10", "--backbone", "resnet18", *place, *size)
    rows = {name: replace(r, orders=min(r.orders, given.orders)) for name, r in ROWS.items()}
    make: Callable[[str], str] = partial(
        bench, rows, network=network, out=out, jobs=given.jobs, seed=given.seed, data=given.data
    )
    with ThreadPoolExecutor(given.at_once) as threads:
        failed = [reason for reason in threads.map(make, given.rows or ROWS) if reason]
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
