"""The server of the page: how fast it answers, and what it survives.

    python benchmarks/page_serve.py [--soak SECONDS] [--kills N] [--only NAME ...]

``throughput``: photos that ``POST /api/v1/predict`` answers in a second, one photo a request, eight
clients at once, over what EfficientNet-Lite0 alone does in OpenVINO on as many images. Both take
turns; ``by_clock`` is the median ratio over the rounds, and ``by_processor`` the ratio of processor
seconds per photo, which other work on the machine does not change much. ``live``: answers in a
second to one client that sends frames of 640 x 480 one after another. ``kills``: kill -9 of a page
that is teaching. ``hostile``: requests that must be refused. ``soak``: mixed requests at full load,
memory at the end over memory a minute after the start, both medians of a minute's samples.
``weight``: bytes of the page and all that it loads. Parts that are not run anew keep their figures.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from PIL import Image

from clsnet.evaluation.store import environment
from clsnet.photos import learn
from clsnet.photos.predicting import opened

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.page.running import Running, form  # noqa: E402

OUT = ROOT / "results" / "bench" / "page_serve.json"
SIDE = 224  # of what the network sees
FRAME = (640, 480)
CLIENTS = 8
ROUNDS, ROUND_SECONDS = 5, 3.0
MINUTE = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--soak", type=float, default=1800, help="Seconds of the soak.")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument(
        "--only", nargs="*", choices=("speed", "kills", "hostile", "soak", "weight")
    )
    given = parser.parse_args()
    runs: dict[str, Callable[[Path], dict[str, Any]]] = {
        "speed": speed,
        "kills": lambda model: {"kills": _child("killed", given.kills)},
        "hostile": lambda model: {"hostile": _child("hostile", 500)},
        "soak": lambda model: {"soak": soak(model, given.soak)},
        "weight": weight,
    }
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        model = _taught(Path(name))
        for part, run in runs.items():
            if given.only is None or part in given.only:
                found |= run(model)
                found |= {"command": "python benchmarks/page_serve.py"}
                found |= {"environment": environment()}
                print(json.dumps(found, indent=1), flush=True)
                OUT.write_text(json.dumps(found, indent=1) + "\n")


def speed(model: Path) -> dict[str, Any]:
    """Measure throughput and live answers."""
    run, images = _network(model)
    with Running("page", model) as page:
        small = [_request(page, photo) for photo in _photos((SIDE, SIDE))]
        large = [_request(page, photo) for photo in _photos(FRAME)]
        sizes = {f"{SIDE} x {SIDE}": small, "640 x 480": large}
        rates: dict[str, list[float]] = {name: [] for name in ("network", *sizes)}
        costs: dict[str, list[float]] = {name: [] for name in ("network", *sizes)}
        for number in range(ROUNDS + 1):
            measured = {"network": _network_rate(run, images)}
            measured |= {name: _served_rate(page, requests) for name, requests in sizes.items()}
            for name, (rate, cost) in measured.items():
                if number:  # the first round warms up
                    rates[name].append(rate)
                    costs[name].append(cost)
        live, _ = _served_rate(page, large, clients=1, seconds=10)
    return {
        "throughput": {
            name: {
                "by_clock": statistics.median(
                    a / b for a, b in zip(rates[name], rates["network"], strict=True)
                ),
                "by_processor": statistics.median(costs["network"])
                / statistics.median(costs[name]),
                "answers_per_second": statistics.median(rates[name]),
            }
            for name in sizes
        },
        "network_alone_per_second": statistics.median(rates["network"]),
        "clients": CLIENTS,
        "live_answers_per_second": live,
        "load_average": os.getloadavg()[0],
    }


def soak(model: Path, seconds: float) -> dict[str, Any]:
    """Mix requests at full load, and watch the memory."""
    asked: Counter[str] = Counter()
    statuses: Counter[int] = Counter()
    memory: list[tuple[float, float]] = []
    with Running("page", model) as page:
        process = psutil.Process(page.process.pid)
        end = time.monotonic() + seconds
        begun = time.monotonic()

        async def client(number: int) -> None:
            for name, request in _mixture(page, number):
                if time.monotonic() > end:
                    return
                status, _ = await _asked(page.port, request)
                asked[name] += 1
                statuses[status] += 1

        async def watch() -> None:
            while time.monotonic() < end:
                memory.append((time.monotonic() - begun, process.memory_info().rss / 2**20))
                await asyncio.sleep(2)

        async def all_clients() -> None:
            await asyncio.gather(watch(), *(client(number) for number in range(CLIENTS)))

        asyncio.run(all_clients())
    after_a_minute = _median_around(memory, MINUTE)
    at_the_end = _median_around(memory, memory[-1][0] - MINUTE / 2)
    return {
        "seconds": round(seconds),
        "requests": sum(asked.values()),
        "mixture": dict(asked),
        "statuses": {str(status): n for status, n in sorted(statuses.items())},
        "mb_after_a_minute": after_a_minute,
        "mb_at_the_end": at_the_end,
        "end_over_minute": at_the_end / after_a_minute,
        "mb_every_minute": [
            round(_median_around(memory, minute * MINUTE))
            for minute in range(1, int(seconds // MINUTE) + 1)
        ],
    }


def weight(model: Path) -> dict[str, Any]:
    """Sum up the bytes of the page and of all that it loads, as the server sends them."""
    seen: dict[str, int] = {}
    with Running("page", model) as page:
        waiting = ["/"]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            status, _, body = page.ask("GET", path)
            assert status == 200, path
            seen[path] = len(body)
            text = body.decode(errors="replace")
            links = re.findall(r"""(?:href|src)="(/static/[^"]+)\"""", text)
            links += [f"/static/{name}" for name in re.findall(r"""from\s+["']\./([^"']+)""", text)]
            links += [f"/static/{name}" for name in re.findall(r"""url\(["']?([\w./-]+)""", text)]
            waiting += links
    return {"page_kilobytes": sum(seen.values()) / 1000, "page_files": len(seen)}


def _child(name: str, number: int) -> dict[str, Any]:
    words = [sys.executable, "-m", f"tests.page.{name}", str(number)]
    done = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _taught(folder: Path) -> Path:
    """Write a model of five classes of ten photos, with EfficientNet-Lite0."""
    for label in range(5):
        (folder / "photos" / f"class {label}").mkdir(parents=True)
        for i, photo in enumerate(_photos(FRAME, n=10, seed=label)):
            (folder / "photos" / f"class {label}" / f"{i}.jpg").write_bytes(photo)
    learn(folder / "m.clsnet", folder / "photos")
    return folder / "m.clsnet"


def _photos(size: tuple[int, int], n: int = 16, seed: int = 100) -> list[bytes]:
    """Draw photos: large and small patches of colour, as JPEG files of a usual size."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        whole = np.zeros((size[1], size[0], 3))
        for cells, strength in ((4, 90), (16, 50), (64, 25)):
            coarse = random.integers(0, 256, (cells, cells, 3), dtype=np.uint8)
            scaled = Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)
            whole += strength / 255 * np.asarray(scaled)
        file = BytesIO()
        Image.fromarray(whole.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=90)
        found.append(file.getvalue())
    return found


def _network(model: Path) -> tuple[Callable[[Any], Any], Any]:
    """Return the compiled network of a model, and images as it takes them."""
    backbone: Any = opened(model, ()).extractor.backbone
    images = backbone.normalised(np.random.default_rng(0).integers(0, 256, (32, 3, SIDE, SIDE)))
    return backbone._runtimes[SIDE], np.asarray(images, np.float32)


def _network_rate(run: Callable[[Any], Any], images: Any) -> tuple[float, float]:
    """Return images in a second, and processor seconds for each."""
    begun, used, done = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() < begun + ROUND_SECONDS:
        run(images)
        done += len(images)
    return done / (time.perf_counter() - begun), (time.process_time() - used) / done


def _served_rate(
    page: Running, requests: list[bytes], clients: int = CLIENTS, seconds: float = ROUND_SECONDS
) -> tuple[float, float]:
    """Return answers in a second, and processor seconds of the server for each."""
    process = psutil.Process(page.process.pid)
    done = 0

    async def client(stop: float) -> None:
        nonlocal done
        reader, writer = await asyncio.open_connection("127.0.0.1", page.port)
        for request in itertools.cycle(requests):
            if time.perf_counter() > stop:
                break
            writer.write(request)
            status, _ = await _answer(reader)
            assert status == 200
            done += 1
        writer.close()

    async def all_clients() -> None:
        stop = time.perf_counter() + seconds
        await asyncio.gather(*(client(stop) for _ in range(clients)))

    before, begun = sum(process.cpu_times()[:2]), time.perf_counter()
    asyncio.run(all_clients())
    took = time.perf_counter() - begun
    return done / took, (sum(process.cpu_times()[:2]) - before) / done


def _mixture(page: Running, number: int) -> Iterator[tuple[str, bytes]]:
    """Yield what clients of a page ask for; the first one also teaches and takes it back."""
    frames = [_request(page, photo) for photo in _photos(FRAME, n=4, seed=200 + number)]
    for turn in itertools.count():
        for frame in frames:
            yield "predict", frame
        if number == 0:
            photos = _photos(FRAME, n=2, seed=1000 + turn)
            yield "learn", _request(page, *photos, verb="learn", label="class 0")
            yield "info", _request(page, verb="info", method="GET")
            yield "undo", _request(page, verb="undo")
        elif turn % 10 == 0 and number < 6:
            verb = ("info", "map", "confusions", "model", "export")[number - 1]
            yield verb, _request(page, verb=verb, method="GET")


def _request(
    page: Running, *photos: bytes, verb: str = "predict", label: str = "", method: str = "POST"
) -> bytes:
    body, kind = form(
        [(f"{i}.jpg", photo) for i, photo in enumerate(photos)],
        **({"class": label} if label else {}),
    )
    if not photos:
        body = b""
    headers = {**page.headers, "Host": f"127.0.0.1:{page.port}", "Content-Type": kind}
    headers["Content-Length"] = str(len(body))
    lines = [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([f"{method} /api/v1/{verb} HTTP/1.1", *lines, "", ""]).encode() + body


async def _asked(port: int, request: bytes) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await _answer(reader)
    finally:
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    assert length is not None
    return int(head.split(b" ", 2)[1]), await reader.readexactly(int(length[1]))


def _median_around(
    memory: list[tuple[float, float]], moment: float, near: float = MINUTE / 2
) -> float:
    """Return the median of a minute: what requests need while they run comes and goes."""
    found = [mb for when, mb in memory if abs(when - moment) <= near]
    return statistics.median(found or [memory[-1][1]])


if __name__ == "__main__":
    main()
