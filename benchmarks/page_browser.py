"""What only a real browser can tell of the page: `python benchmarks/page_browser.py AXE_MIN_JS`.

``axe``: findings of axe-core (``npm install axe-core``; its ``axe.min.js`` is the argument) in
every state of the page, light and dark, at three widths. ``live_in_browser_per_second``: answers
that the page itself shows to a webcam of 640 x 480, browser and server on the same machine. Writes
both into ``results/bench/page_serve.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clsnet.photos import learn

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import tests.browser  # noqa: E402
from tests.browser import ENTER, ESCAPE, Browser  # noqa: E402
from tests.page.browser.serving import Person, Served  # noqa: E402
from tests.page.running import painted  # noqa: E402

OUT = ROOT / "results" / "bench" / "page_serve.json"
WIDTHS, SCHEMES = (360, 768, 1280), ("light", "dark")
WEBCAM = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
LIVE_SECONDS = 20.0
RUN = (
    "return (await axe.run()).violations.map(({ id, impact, nodes }) => [id, impact, nodes.length])"
)

STILL = "return document.getAnimations().every((one) => one.playState === 'finished')"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("axe", type=Path, help="The file axe.min.js.")
    source = parser.parse_args().axe.read_text(encoding="utf-8")
    tests.browser.PATIENCE = 120  # the machine may be busy
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        photos = painted(folder / "photos")
        browser = Browser(folder / "profile", *WEBCAM)
        served = Served(folder / "m.clsnet", dict(os.environ))
        try:
            person = Person(browser, folder / "m.clsnet")
            found = {"axe": axe(source, states(person, served, photos), browser)}
            learn(folder / "m.clsnet", photos)
            person.opens(served.address)
            found["live_in_browser_per_second"] = live(person)
            found["live_in_browser_load_average"] = os.getloadavg()[0]
        finally:
            served.kill()
            browser.close()
    known = json.loads(OUT.read_text()) if OUT.exists() else {}
    OUT.write_text(json.dumps(known | found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def states(person: Person, served: Served, photos: Path) -> Iterator[str]:
    """Go through everything that the page can look like; yield what it is now."""
    browser = person.browser
    red, green = (sorted((photos / colour).iterdir()) for colour in ("red", "green"))
    person.opens(served.link)
    yield "first run"
    browser.click("#first [data-part=webcam]")
    browser.wait("return document.querySelector('#first video').videoWidth")
    yield "first run, webcam"
    for colour in ("red", "green", "blue"):
        person.sees("#first [data-part=what]", colour)
        browser.click("#first [data-part=draw]")
    person.sees("#first", "It knows three colours now")
    yield "first run, end"
    browser.click("#first [data-part=done]")
    person.sees("#answers .answer h2")
    person.goes_to("teach")
    browser.press("#new-name", "scarlet" + ENTER)
    card = person.card("scarlet")
    yield "a class without photos"
    person.gives(f"{card} [data-part=choose]", [*red, Path(__file__)])
    person.sees(f"{card} .bad", "1 photo could not be read.")
    yield "taught, one photo unreadable"
    browser.run("document.querySelector(arguments[0]).hidden = false", f"{card} .progress")
    yield "teaching"
    browser.run("document.querySelector(arguments[0]).hidden = true", f"{card} .progress")
    browser.click(f"{card} [data-part=webcam]")
    browser.wait("return document.querySelector(arguments[0]).videoWidth", f"{card} video")
    yield "teaching with the webcam"
    browser.click(f"{card} [data-part=forget]")
    person.sees("#confirm")
    yield "dialog: forget a class"
    browser.type(ESCAPE)
    browser.click(f"{card} .thumb")
    person.sees("#photo")
    yield "dialog: a photo"
    browser.type(ESCAPE)
    browser.click("#undo")
    person.sees("#notice", "Undone: ")
    yield "undone"
    person.goes_to("ask")
    person.gives("#ask [data-part=choose]", green[:2])
    browser.wait("return document.querySelectorAll('.answer').length > 2")
    browser.click(".answer .names button")
    person.sees(".answer .good")
    yield "asked and corrected"
    browser.click("#ask [data-part=start]")
    person.sees("#ask .live .hint", "answers a second")
    yield "live"
    person.goes_to("review")
    person.sees("#review .answer")
    yield "review"
    person.goes_to("see")
    person.sees("#see", "Most alike:")
    yield "map, table and growth"
    person.goes_to("model")
    browser.click("#model summary")
    yield "model"
    browser.run("document.querySelector('#gone').hidden = false")
    browser.run("document.querySelector('#gone').textContent = 'clsnet does not answer.'")
    yield "server gone"
    browser.open(f"{served.address}api", 1280)
    yield "page of the API"


def axe(source: str, states: Iterator[str], browser: Browser) -> dict[str, Any]:
    """Count what axe finds in each state, width and colour scheme."""
    impacts: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    seen: list[str] = []
    for state in states:
        browser.run(source)
        for width in WIDTHS:
            for scheme in SCHEMES:
                browser.resize(width, scheme=scheme)
                browser.wait(STILL)  # colours fade from one scheme to the other
                for rule, impact, nodes in browser.run(RUN):
                    impacts[impact] += nodes
                    findings[f"{impact}: {rule} ({state}, {width}, {scheme})"] += nodes
        browser.resize(1280)
        seen.append(state)
        print(state, dict(impacts), flush=True)
    version = browser.run("return axe.version")
    return {
        "version": version,
        "states": seen,
        "widths": WIDTHS,
        "schemes": SCHEMES,
        "runs": len(seen) * len(WIDTHS) * len(SCHEMES),
        **{impact: impacts[impact] for impact in ("critical", "serious", "moderate", "minor")},
        "findings": dict(findings),
    }


def live(person: Person) -> float:
    """Count the answers that the page gets to its webcam in a second."""
    browser = person.browser
    person.goes_to("ask")
    browser.run("""
        const real = window.fetch;
        window.answered = 0;
        window.fetch = async (...given) => {
          const answer = await real(...given);
          window.answered += given[0].includes("predict") && answer.ok;
          return answer;
        };
    """)
    browser.click("#ask [data-part=start]")
    person.sees("#ask .live .hint", "answers a second")
    time.sleep(3)  # the network is compiled and warm
    before, begun = browser.run("return window.answered"), time.perf_counter()
    time.sleep(LIVE_SECONDS)
    answers = browser.run("return window.answered") - before
    return float(answers / (time.perf_counter() - begun))


if __name__ == "__main__":
    main()
