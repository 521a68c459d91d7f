"""The page killed while it teaches: no model is lost, and no photo stays.

``python -m tests.page.killed [NUMBER]``: so many kills, as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from clsnet.page.scratch import START
from clsnet.photos import info
from tests.page.running import Running, painted, taught


def killed_while_teaching(kills: int, seed: int = 0) -> dict[str, Any]:
    """Kill a page at random moments of learning; see what is left of its model."""
    chance = random.Random(seed)
    lost: list[str] = []
    at_work = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = taught(folder)
        (scratch := folder / "scratch").mkdir()
        for number in range(kills):
            new = painted(folder / f"new-{number}", n=4, seed=100 + number)
            photos = sorted((new / "red").iterdir())
            page = Running("page", model, scratch=scratch)
            begun = time.perf_counter()  # an honest change tells how long one takes
            page.post("learn", sorted((new / "blue").iterdir()), **{"class": "blue"})
            took = time.perf_counter() - begun
            before = sum(info(model).counts.values())
            done: list[int] = []

            def teach(page: Running = page, photos: list[Path] = photos, done: Any = done) -> None:
                with suppress(Exception):
                    done.append(page.post("learn", photos, **{"class": "red"})[0])

            teacher = threading.Thread(target=teach)
            teacher.start()
            time.sleep(chance.uniform(0, took))
            page.kill()
            teacher.join()
            at_work += not done
            try:
                after = sum(info(model).counts.values())
                whole = after in (before, before + 4) and (not done or after == before + 4)
                if not whole:
                    lost.append(f"{before} photos became {after}, answers {done}")
            except Exception as error:
                lost.append(str(error))
        with Running("page", model, scratch=scratch):
            left = list(scratch.glob(f"{START}*/uploads/*"))
    return {
        "kills": kills,
        "while_at_work": at_work,
        "lost": len(lost),
        "examples": lost[:3],
        "photos_left": len(left),
    }


if __name__ == "__main__":
    print(json.dumps(killed_while_teaching(int(sys.argv[1]) if sys.argv[1:] else 50), indent=1))
