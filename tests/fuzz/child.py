"""A process that tries some cases and prints what became of them, as JSON.

``python -m tests.fuzz.child KIND SEED COUNT SECONDS``: cases SEED to SEED + COUNT of a kind, for at
most so many seconds.
"""

import faulthandler
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.fuzz import headers, using
from tests.fuzz.seeds import write_photos, write_seeds
from tests.fuzz.watch import Watch, peak_mb

EXAMPLES = 200
PHOTOS_SHARE = 0.1
LONGEST = 20  # seconds, of a case; the machine may have much else to do


def cases(folder: Path, kind: str) -> Callable[[int], Callable[[], None]]:
    """Return what writes case number n and returns what to do with it."""
    good = {path: path.read_bytes() for path in write_seeds(folder / "seeds")}
    parts = {path: headers.read_parts(path) for path in good}
    photos, album = write_photos(folder / "seeds")
    good[photos], parts[photos] = photos.read_bytes(), headers.read_parts(photos)
    photo = sorted(album.rglob("*.png"))[0]
    arrays = [path for path in good if path != photos]

    def prepared(number: int) -> Callable[[], None]:
        random = np.random.RandomState(number)
        of_photos = random.rand() < PHOTOS_SHARE
        seed = photos if of_photos else arrays[random.randint(len(arrays))]
        path = folder / "case" / "model.clsnet"
        using.clear(path.parent)
        if kind == "headers" and number:
            headers.write_parts(path, *headers.edited(*parts[seed], random))
        elif kind == "bytes" and number:
            path.write_bytes(mutated(good[seed], random))
        else:
            path.write_bytes(good[seed])
        heavy = random.rand() < 0.05
        if of_photos:
            return lambda: using.use_photos(path, photo, heavy)
        return lambda: using.use_arrays(path)

    return prepared


def mutated(data: bytes, random: np.random.RandomState) -> bytes:
    """Return a file with some bytes changed, cut, doubled or moved."""
    odd = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 5, 50])):
        if not odd:
            break
        place, length = random.randint(len(odd)), random.randint(1, 64)
        if random.rand() < 0.5:  # the header is small, and most tell-tale
            place = random.randint(min(len(odd), 3000))
        what = random.randint(5)
        if what == 0:
            odd[place] ^= 1 << random.randint(8)
        elif what == 1:
            odd[place : place + length] = random.bytes(length)
        elif what == 2:
            del odd[place : place + length]
        elif what == 3:
            odd[place:place] = odd[place : place + length]
        else:
            odd = odd[: max(1, place)]
    return bytes(odd)


def main(kind: str, first: int, count: int, seconds: float) -> None:
    """Try the cases."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "seeds").mkdir()
        (folder / "case").mkdir()
        prepared = cases(folder, kind)
        warm(folder)
        watch = Watch(folder)
        found: Counter[str] = Counter()
        others, done, longest = [], 0, 0.0
        for number in range(first, first + count):
            if time.monotonic() > end:
                break
            call, start = prepared(number), time.monotonic()
            faulthandler.dump_traceback_later(LONGEST, exit=True)
            with watch.watching():
                what = using.outcome(call)
            faulthandler.cancel_dump_traceback_later()
            longest = max(longest, time.monotonic() - start)
            if what not in ("answered", "refused"):
                others.append(f"{number}: {what}")
                what = "other"
            found[what] += 1
            done += 1
        print(
            json.dumps(
                {
                    "cases": done,
                    **{name: found[name] for name in ("answered", "refused", "other")},
                    "foreign": len(watch.foreign),
                    "peak_mb": round(peak_mb(), 1),
                    "longest_s": round(longest, 2),
                    "examples": others[:EXAMPLES],
                    "opened": sorted(set(watch.foreign))[:EXAMPLES],
                }
            )
        )


def warm(folder: Path) -> None:
    """Do everything once with good files, so that what it imports is there."""
    path = folder / "case" / "model.clsnet"
    for seed in sorted((folder / "seeds").glob("*.clsnet")):
        using.clear(path.parent)
        path.write_bytes(seed.read_bytes())
        if seed.stem == "photos":
            photo = sorted((folder / "seeds" / "photos").rglob("*.png"))[0]
            said = using.outcome(lambda: using.use_photos(path, photo, heavy=True))  # noqa: B023
        else:
            said = using.outcome(lambda: using.use_arrays(path))
        assert said == "answered", f"{seed.stem}: {said}"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
