"""The bombs of every image format, 64 at once: how much memory they take, and how long each takes.

``python -m tests.fuzz.image_bombs [SIDE]``: as JSON.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from clsnet.errors import ClsnetError
from clsnet.images import Images
from tests.fuzz.image_corpus import BOMBS, LARGE, other_formats
from tests.fuzz.watch import peak_mb

ROOT = Path(__file__).parents[2]
AT_ONCE = 64


def write_corpus(folder: Path, side: int) -> list[Path]:
    """Write every bomb, and what is no file at all; each in a process of its own, to stay small."""
    for name, made in BOMBS.items():
        if (child := os.fork()) == 0:
            (folder / f"{name}.jpg").write_bytes(made(side))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, name
    for name, data in other_formats().items():
        (folder / f"other-{name}.jpg").write_bytes(data)
    os.mkfifo(folder / "pipe.jpg")
    with (folder / "sparse.jpg").open("wb") as file:
        file.truncate(300 * 10**9)
    (folder / "device.jpg").symlink_to("/dev/zero")
    (folder / "folder.jpg").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket.jpg"))
    return sorted(folder.iterdir())


def outcome(path: Path) -> str:
    """Return "decoded", "refused", or what happened that must not."""
    try:
        Images([path], size=224)[0]
    except ClsnetError as error:
        return "refused" if "\n" not in str(error) else f"{path.name}: more than a line"
    except BaseException as error:
        return f"{path.name}: {error!r}"
    return "decoded"


def alone(paths: list[Path]) -> tuple[dict[str, float], float]:
    """Return the seconds of a processor that each takes by itself, and the longest by the clock."""
    seconds, longest = {}, 0.0
    for path in paths:
        start, used = time.monotonic(), time.process_time()
        outcome(path)
        seconds[path.stem] = time.process_time() - used
        longest = max(longest, time.monotonic() - start)
    return seconds, longest


def together(paths: list[Path], at_once: int = AT_ONCE) -> tuple[list[str], float]:
    """Decode so many at once in a fresh process; return the outcomes, and its peak in MB."""
    names = [str(paths[i % len(paths)]) for i in range(at_once)]
    command = [sys.executable, "-m", "tests.fuzz.image_bombs", "--together", *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT)
    found, peak = json.loads(done.stdout)
    return found, peak


def decoded_together(paths: list[Path]) -> tuple[list[str], float]:
    """Decode all at once in this process; return the outcomes, and the peak in MB."""
    warnings.simplefilter("ignore")
    with ThreadPoolExecutor(len(paths)) as pool:
        return list(pool.map(outcome, paths)), peak_mb()


def measured(side: int) -> dict[str, Any]:
    """Return what becomes of the corpus."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = write_corpus(Path(name), side)
        found, peak = together(paths)
        seconds, by_the_clock = alone(paths)
    slowest = max(seconds, key=lambda name: seconds[name])
    odd = [what for what in found if what not in ("decoded", "refused")]
    return {
        "files": len(paths),
        "at_once": AT_ONCE,
        "decoded": found.count("decoded"),
        "refused": found.count("refused"),
        "other": odd,
        "peak_mb": round(peak, 1),
        "longest_s": round(seconds[slowest], 2),
        "longest_by_the_clock_s": round(by_the_clock, 2),
        "slowest": slowest,
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--together"]:
        print(json.dumps(decoded_together([Path(name) for name in sys.argv[2:]])))
    else:
        print(json.dumps(measured(int(sys.argv[1]) if len(sys.argv) > 1 else LARGE), indent=1))
