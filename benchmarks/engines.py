"""Sums taken by many workers: ratios within one run, part by part.

    python benchmarks/engines.py [PART ...]

Parts that are not named keep what results/bench/engines.json holds of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from clsnet import CLSNet, Sums, merge
from clsnet.arrays.gram import add_gram
from clsnet.arrays.threads import threads_of_children
from clsnet.classifier.class_sums import ClassSums
from clsnet.engines import processes
from clsnet.engines.parts import Summing, total
from clsnet.evaluation.store import environment
from engines_work import OPTIONS, ROWS, SHARDS, Reader, shard
from timing import alternating, median, ratio

HERE = Path(__file__).parent
OUT = Path("results/bench/engines.json")
KILLS, ROUNDS = 20, 3


def plain_sums(pool: ProcessPoolExecutor, read: Reader) -> Sums:
    return total(pool.map(Summing(CLSNet(**OPTIONS), read), SHARDS))


def torchrun_sums(rows: int, deadly: int = -1) -> Sums:
    with tempfile.TemporaryDirectory() as folder:
        start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        script = [str(HERE / "engines_work.py"), folder, str(rows), str(deadly)]
        command = [sys.executable, *start, "--max-restarts", "3", *script]
        with threads_of_children(1):
            subprocess.run(command, check=True, capture_output=True, timeout=120)
        assert deadly < 0 or Path(folder, "died").exists()
        return Sums.load(Path(folder, "all.sums"))


def dask_sums(read: Reader) -> Sums:
    import dask.bag

    from clsnet.engines import dask as engine

    return engine.summarise(CLSNet(**OPTIONS), dask.bag.from_sequence(SHARDS, npartitions=12), read)


def ray_sums(read: Reader) -> Sums:
    import pyarrow
    import ray.data

    from clsnet.engines import ray as engine

    blocks = [pyarrow.table({"shard": [number]}) for number in SHARDS]
    return engine.summarise(CLSNet(**OPTIONS), ray.data.from_blocks(blocks), read)


def start_ray() -> None:
    import ray
    import ray.data

    root = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    runtime = {"env_vars": {"PYTHONPATH": root}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=runtime)
    ray.data.DataContext.get_current().enable_progress_bars = False


def start_dask() -> Any:
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    return Client(cluster)


def omega(sums: Sums) -> np.ndarray:
    return CLSNet(**OPTIONS).learn_sums(sums).classifier_.omega


def same_weights() -> dict[str, Any]:
    """Ray, Dask, torchrun and processes against one process, and Ray against plain processes."""
    alone = omega(CLSNet(**OPTIONS).summarise(shard(number) for number in SHARDS))
    start_ray()
    client = start_dask()
    read = Reader()
    with threads_of_children(1):
        pool = ProcessPoolExecutor(2, get_context("spawn"))
        list(pool.map(shard, SHARDS[:2]))
    found = {
        "processes": processes.summarise(CLSNet(**OPTIONS), SHARDS, read, workers=2),
        "dask": dask_sums(read),
        "ray": ray_sums(read),
        "torchrun": torchrun_sums(ROWS),
    }
    client.shutdown()
    differences = {
        name: float(np.linalg.norm(omega(sums) - alone) / np.linalg.norm(alone))
        for name, sums in found.items()
    }
    runs = {"plain": lambda: plain_sums(pool, read)}
    runs["ray"] = lambda: ray_sums(read)
    times = alternating(runs, ROUNDS)
    return {
        "relative difference of weights": differences,
        "ray / two plain processes": ratio(times["ray"], times["plain"]),
        "seconds": median(times),
    }


def kills() -> dict[str, Any]:
    """Kill a worker in the middle, with each engine, again and again."""
    rows = 256
    alone = omega(CLSNet(**OPTIONS).summarise(shard(number, rows) for number in SHARDS))
    client = start_dask()
    start_ray()

    def through_processes(read: Reader) -> Sums:
        return processes.summarise(CLSNet(**OPTIONS), SHARDS, read, workers=2)

    engines = {"dask": dask_sums, "ray": ray_sums, "processes": through_processes}
    engines["torchrun"] = lambda read: torchrun_sums(rows, read.deadly)
    right = dict.fromkeys(engines, 0)
    for number in range(KILLS):
        for name, take in engines.items():
            with tempfile.TemporaryDirectory() as folder:
                read = Reader(rows, deadly=3 + number % 8, marker=f"{folder}/died")
                found = omega(take(read))
                died = name == "torchrun" or Path(folder, "died").exists()
            close = np.linalg.norm(found - alone) <= 1e-10 * np.linalg.norm(alone)
            right[name] += bool(died and close)
        write("kills", {"killed": number + 1, "right": right})
    client.shutdown()
    return {"killed": KILLS, "right": right}


def class_sums() -> dict[str, Any]:
    """Time a batch of 4,096 x 2,000 with 100,000 classes over the Gram product of that batch."""
    n_classes, size = 100_000, 2000
    random = np.random.default_rng(0)
    A, sums = random.standard_normal((4096, size)), ClassSums(size, "cpu")
    sums.add_sums(range(n_classes), np.zeros((1, size)))
    gram = np.zeros((size, size))

    def by_index() -> None:
        labels, codes = np.unique(random.integers(0, n_classes, 4096), return_inverse=True)
        sums.add(labels.tolist(), codes, A)

    times = alternating({"classes": by_index, "gram": lambda: add_gram(gram, A)}, rounds=9)
    return {"class sums / gram": ratio(times["classes"], times["gram"]), "seconds": median(times)}


def peaks(n_classes: int, dimension: int, n_processes: int) -> dict[str, float]:
    """Return seconds and memory of the process that needs the most."""
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(n_processes)]
    script = [str(HERE / "engines_columns.py"), str(n_classes), str(dimension)]
    with threads_of_children(2 // n_processes):
        command = [sys.executable, *start, *script]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
    return max(lines, key=lambda line: line["peak (MB)"])


def columns() -> dict[str, Any]:
    """Compare the peak memory of 100,000 classes in two processes with that in one."""
    two, one = peaks(100_000, 2000, 2), peaks(100_000, 2000, 1)
    ratio = two["peak (MB)"] / one["peak (MB)"]
    return {"one process": one, "two processes": two, "peak memory, two / one": ratio}


def tenth() -> dict[str, Any]:
    """Learn 10,000 classes with D = 10,000: a tenth of the arithmetic in docs/scale.md."""
    return peaks(10_000, 10_000, 2)


def merging() -> dict[str, Any]:
    """Time the merge of 100 models of D = 2,000 over one pass over what they learned."""
    size, n_models, rows = 2000, 100, 4096
    random = np.random.default_rng(0)
    X, y = random.standard_normal((rows, size - 1)), random.integers(0, 10, rows)
    model = CLSNet(backbone="identity", connection="Z", ridge=1e-3).prepare(X)
    sums = model.summarise([(X, y)])
    models = [model.twin().learn_sums(sums) for _ in range(n_models)]
    runs = {"merge": lambda: merge(*models), "tenth": lambda: model.summarise([(X, y)] * 10)}
    times = alternating(runs, ROUNDS)
    return {
        "models": n_models,
        "samples of each": rows,
        "merge / pass (measured on a tenth)": ratio(times["merge"], times["tenth"]) / 10,
        "seconds": median(times),
    }


def noise() -> dict[str, Any]:
    """Accuracy on FashionMNIST, preset fast, at epsilon = 8 and delta = 1e-5."""
    from clsnet.data import load_sequence

    data = load_sequence("FashionMNIST-10/5").dataset
    model = CLSNet(preset="fast", ridge=0.1).prepare(data.X_train[:10])
    plain = CLSNet(preset="fast").learn_sums(model.summarise([(data.X_train, data.y_train)]))
    exact = model.summarise([(data.X_train, data.y_train)], clip=1.0)

    def accuracy(sums: Sums) -> float:
        return model.twin().learn_sums(sums).score(data.X_test, data.y_test)

    noisy = [accuracy(exact.with_noise(8, 1e-5, np.random.default_rng(i))) for i in range(3)]
    without = plain.score(data.X_test, data.y_test)
    return {
        "epsilon": 8,
        "delta": 1e-5,
        "ridge with noise": 0.1,
        "accuracy without noise": without,
        "accuracy, same ridge, without noise": accuracy(exact),
        "accuracy with noise": noisy,
        "lost points": 100 * (without - float(np.mean(noisy))),
    }


def stream() -> dict[str, Any]:
    """Memory of a process that learns ten million samples of a stream."""
    code = """
import json, resource, sys
import numpy as np
from clsnet import CLSNet
random = np.random.default_rng(0)
peaks = []
def batches():
    for number in range(2442):
        if number in (244, 2441):
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        y = random.integers(0, 10, 4096)
        yield random.standard_normal((4096, 8)) + y[:, None], y
model = CLSNet(groups=1, ridge=1e-3).learn(batches(), save_to=sys.argv[1], every=100)
print(json.dumps([model.tasks_[-1].n_samples, peaks]))
"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", code, f"{folder}/m"], check=True, capture_output=True, text=True
        )
    samples, (early, late) = json.loads(done.stdout)
    return {"samples": samples, "peak after all / after a tenth": late / early, "peak (MB)": late}


ALL = (same_weights, kills, class_sums, columns, tenth, merging, noise, stream)
PARTS = {one.__name__: one for one in ALL}


def write(name: str, found: dict[str, Any]) -> None:
    known = json.loads(OUT.read_text()) if OUT.exists() else {}
    record = {**known, name: found, "environment": environment()}
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(record, indent=1) + "\n")


def main() -> None:
    for name in sys.argv[1:] or PARTS:
        start = time.perf_counter()
        found = PARTS[name]()
        write(name, found)
        print(name, f"{time.perf_counter() - start:.0f} s", json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
