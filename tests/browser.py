"""A real browser, driven by the WebDriver protocol: JSON over HTTP, no library needed."""

import base64
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="needs a browser: apt-get install chromium chromium-driver",
)
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]
ENTER, TAB, ESCAPE = "\ue007", "\ue004", "\ue00c"
PATIENCE = 15.0


class Browser:
    """One headless Chromium with a profile of its own, and further arguments if given."""

    def __init__(self, profile: Path, *arguments: str) -> None:
        self.driver = subprocess.Popen(
            [str(DRIVER), "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.url = ""
        assert self.driver.stdout is not None
        for line in self.driver.stdout:
            if found := re.search(r"on port (\d+)\.", line):
                self.url = f"http://127.0.0.1:{found[1]}/session"
                break
        options = {
            "binary": CHROMIUM,
            "args": [*ARGUMENTS, *arguments, f"--user-data-dir={profile}"],
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        try:
            session = self._call("", {"capabilities": {"alwaysMatch": wanted}})
        except (OSError, RuntimeError):
            self._stop()
            raise
        self.url += f"/{session['sessionId']}"

    def close(self) -> None:
        try:
            self._call("", method="DELETE")
        finally:
            self._stop()

    def _stop(self) -> None:
        self.driver.terminate()
        self.driver.communicate()

    def open(self, page: Path | str, width: int, height: int = 844, scheme: str = "light") -> None:
        self.resize(width, height, scheme)
        self._call("/url", {"url": page.as_uri() if isinstance(page, Path) else page})

    def resize(self, width: int, height: int = 844, scheme: str = "light") -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def run(self, script: str, *arguments: Any) -> Any:
        return self._call("/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script: str, *arguments: Any) -> Any:
        """Return what a script returns as soon as that is true."""
        end = time.monotonic() + PATIENCE
        while not (found := self.run(script, *arguments)):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script} of {arguments}")
            time.sleep(0.02)
        return found

    def press(self, selector: str, keys: str) -> None:
        """Type into the element that a selector finds, or give a file input its paths."""
        self._call(f"/element/{self._element(selector)}/value", {"text": keys})

    def click(self, selector: str) -> None:
        self._call(f"/element/{self._element(selector)}/click", {})

    def type(self, keys: str, hold: float = 0.0) -> None:
        """Press keys one after another, wherever the focus is."""
        steps: list[dict[str, Any]] = []
        for key in keys:
            steps.append({"type": "keyDown", "value": key})
            if hold:
                steps.append({"type": "pause", "duration": int(1000 * hold)})
            steps.append({"type": "keyUp", "value": key})
        self._act({"type": "key", "id": "keyboard", "actions": steps})

    def hold(self, selector: str, seconds: float) -> None:
        """Keep the mouse pressed on an element."""
        element = {"element-6066-11e4-a52e-4f735466cecf": self._element(selector)}
        steps = [
            {"type": "pointerMove", "x": 0, "y": 0, "origin": element},
            {"type": "pointerDown", "button": 0},
            {"type": "pause", "duration": int(1000 * seconds)},
            {"type": "pointerUp", "button": 0},
        ]
        self._act({"type": "pointer", "id": "mouse", "actions": steps})

    def tabs(self) -> list[str]:
        return list(self._call("/window/handles", method="GET"))

    def new_tab(self) -> str:
        """Open a further tab; `go_to_tab` shows it."""
        return str(self._call("/window/new", {"type": "tab"})["handle"])

    def go_to_tab(self, tab: str) -> None:
        self._call("/window", {"handle": tab})

    def close_tab(self) -> None:
        self._call("/window", method="DELETE")

    def _element(self, selector: str) -> str:
        found = self._call("/element", {"using": "css selector", "value": selector})
        (element,) = found.values()
        return str(element)

    def _act(self, actions: dict[str, Any]) -> None:
        self._call("/actions", {"actions": [actions]})
        self._call("/actions", method="DELETE")

    def console(self) -> list[str]:
        return [entry["message"] for entry in self._call("/se/log", {"type": "browser"})]

    def screenshot(self, path: Path) -> None:
        """Save the whole page."""
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self._call("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _call(self, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            said = json.load(error)["value"]["message"].partition("\n")[0]
            raise RuntimeError(f"{method} {path}: {said}") from None
