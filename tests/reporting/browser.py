"""A real browser, driven by the WebDriver protocol: JSON over HTTP, no library needed."""

import base64
import json
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
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
ENTER = "\ue007"


class Browser:
    """One headless Chromium with a profile of its own."""

    def __init__(self, profile: Path) -> None:
        self.driver = subprocess.Popen(
            [str(DRIVER), "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.url = ""
        assert self.driver.stdout is not None
        for line in self.driver.stdout:
            if found := re.search(r"on port (\d+)\.", line):
                self.url = f"http://127.0.0.1:{found[1]}/session"
                break
        options = {"binary": CHROMIUM, "args": [*ARGUMENTS, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        try:
            session = self._call("", {"capabilities": {"alwaysMatch": wanted}})
        except OSError:
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

    def open(self, page: Path, width: int, height: int = 844, scheme: str = "light") -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", features=features)
        self._call("/url", {"url": page.as_uri()})

    def run(self, script: str) -> Any:
        return self._call("/execute/sync", {"script": script, "args": []})

    def press(self, selector: str, keys: str) -> None:
        """Type into the element that a selector finds."""
        found = self._call("/element", {"using": "css selector", "value": selector})
        (element,) = found.values()
        self._call(f"/element/{element}/value", {"text": keys})

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
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]
