"""A real `clsnet page` or `clsnet serve` in a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from PIL import Image

from clsnet.extractor import Patches
from clsnet.photos import learn

BOUNDARY = "edge-of-a-part"
COLOURS = {"red": (220, 30, 30), "green": (30, 180, 40), "blue": (40, 50, 220)}


def painted(folder: Path, n: int = 8, seed: int = 0, side: int = 48) -> Path:
    """Write noisy photos of three colours, each in its folder."""
    random = np.random.default_rng(seed)
    for name, colour in COLOURS.items():
        (folder / name).mkdir(parents=True)
        for i in range(n):
            noise = random.integers(-40, 40, (side, side, 3))
            pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{seed}-{i}.png")
    return folder


def taught(folder: Path) -> Path:
    """Write a small model of three colours."""
    learn(folder / "m.clsnet", painted(folder / "photos"), backbone=Patches(filters=4, pool=2))
    return folder / "m.clsnet"


def form(
    files: Iterable[tuple[str, bytes]], field: str = "file", **fields: str
) -> tuple[bytes, str]:
    """Return a multipart form and its content type."""
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    for name, data in files:
        about = f'Content-Disposition: form-data; name="{field}"; filename="{name}"'
        parts.append(f"--{BOUNDARY}\r\n{about}\r\n\r\n".encode() + data + b"\r\n")
    whole = b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()
    return whole, f"multipart/form-data; boundary={BOUNDARY}"


class Running:
    """A server, until the end of a `with`.

    Parameters
    ----------
    command
        ``"page"`` or ``"serve"``.
    model
        The file of the model.
    words
        Further options.
    token
        That of `serve`.
    scratch
        Where its temporary files lie, if not where they usually do.
    """

    def __init__(
        self,
        command: str,
        model: Path,
        *words: object,
        token: str = "",
        scratch: Path | None = None,
    ) -> None:
        place = {} if scratch is None else {"TMPDIR": str(scratch)}
        more = ["--no-browser"] if command == "page" else []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clsnet", command, model, *more, *map(str, words)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE", **place},
        )
        assert self.process.stdout is not None
        found = next(re.finditer(r"http://\S+:(\d+)/\S*", self._until_address()))
        self.link, self.port = found[0], int(found[1])
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.cookie = ""
        if command == "page":
            self.enter()

    def _until_address(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "http://" in line:
                return line
        raise AssertionError(f"the server ended with status {self.process.wait()}")

    def enter(self) -> None:
        """Exchange the token for a cookie."""
        status, headers, _ = self.ask("GET", "/?" + self.link.partition("?")[2])
        assert status == 303
        self.cookie = headers["set-cookie"].partition(";")[0]
        self.headers = {"Cookie": self.cookie, "Origin": f"http://127.0.0.1:{self.port}"}

    def ask(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {**self.headers, **headers})
            response = connection.getresponse()
            return (
                response.status,
                {k.lower(): v for k, v in response.getheaders()},
                response.read(),
            )
        finally:
            connection.close()

    def get(self, path: str) -> tuple[int, Any]:
        status, _, body = self.ask("GET", path)
        return status, json.loads(body)

    def post(
        self, verb: str, photos: Iterable[Path] = (), field: str = "file", **fields: str
    ) -> tuple[int, Any]:
        body, kind = form([(p.name, p.read_bytes()) for p in photos], field, **fields)
        status, _, found = self.ask("POST", f"/api/v1/{verb}", body, **{"Content-Type": kind})
        return status, json.loads(found)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()
