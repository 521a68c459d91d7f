"""The real `clsnet page` in a process of its own, and what a person does with it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.browser import Browser

READY = "return document.body.classList.contains('ready')"
TEXT = "return document.querySelector(arguments[0])?.innerText ?? ''"


class Served:
    """A running `clsnet page`."""

    def __init__(self, model: Path, environment: dict[str, str], port: int = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clsnet", "page", model, "--no-browser", "--port", str(port)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self.process.stdout is not None
        self.link = ""
        for line in self.process.stdout:
            if found := re.search(r"http://\S+", line):
                self.link = found[0]
                break
        self.address = self.link.partition("?")[0]
        self.port = int(self.address.rpartition(":")[2].rstrip("/"))

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


class Person:
    """Somebody in front of the page of a model."""

    def __init__(self, browser: Browser, model: Path) -> None:
        self.browser, self.model = browser, model

    def opens(self, address: str, width: int = 1280, scheme: str = "light") -> None:
        """Load the page anew."""
        self.browser.open("about:blank", width, scheme=scheme)  # the same address is no navigation
        self.browser.open(address, width, scheme=scheme)
        self.browser.wait(READY)

    def goes_to(self, view: str) -> None:
        self.browser.click(f'nav a[href="#{view}"]')
        self.sees(f"#{view}:not([inert])")

    def sees(self, selector: str, text: str = "") -> str:
        """Wait until something is visible that holds a text; return all of its text."""
        script = "const found = document.querySelector(arguments[0]);"
        script += "return found?.checkVisibility() && found.innerText.includes(arguments[1])"
        try:
            self.browser.wait(script, selector, text)
        except TimeoutError:
            raise AssertionError(
                f"{selector} says {self.reads(selector)!r}, not {text!r}"
            ) from None
        return self.reads(selector)

    def reads(self, selector: str) -> str:
        return str(self.browser.run(TEXT, selector))

    def counts(self, selector: str) -> int:
        return int(
            self.browser.run("return document.querySelectorAll(arguments[0]).length", selector)
        )

    def gives(self, selector: str, files: Iterable[Path]) -> None:
        """Choose files in a file chooser."""
        self.browser.press(selector, "\n".join(map(str, files)))

    def drops(self, selector: str, paths: Iterable[Path]) -> None:
        """Drag files and folders from the desktop onto something."""
        script = """
            const found = document.querySelector(arguments[0]);
            found.scrollIntoView({ block: "center", behavior: "instant" });
            const box = found.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        """
        x, y = self.browser.run(script, selector)
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.browser.devtools("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)

    def card(self, label: str) -> str:
        """Return the selector of the card of a class."""
        script = """
            const names = [...document.querySelectorAll("#cards h2")];
            return names.find((one) => one.textContent === arguments[0])?.id;
        """
        return f'#cards [aria-labelledby="{self.browser.wait(script, label)}"]'

    def cards(self) -> list[str]:
        script = "return [...document.querySelectorAll('#cards h2')].map((one) => one.textContent)"
        return [str(name) for name in self.browser.run(script)]

    def told(self) -> dict[str, Any]:
        """Return what the API tells about the model."""
        return dict(self.browser.run("return (await fetch('/api/v1/info')).json()"))

    def photos(self) -> dict[str, int]:
        """Return how many photos the model has of each class."""
        return {one["label"]: one["photos"] for one in self.told()["classes"]}
