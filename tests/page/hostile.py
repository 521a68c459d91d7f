"""Requests that must not be answered: strangers, tricks with paths, and bodies that are too much.

``python -m tests.page.hostile [NUMBER]``: so many against a real server, as JSON.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import re
import socket
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clsnet.images.decode import Unreadable, decode
from tests.fuzz.image_corpus import BOMBS, other_formats
from tests.page.running import Running, taught

GIGABYTE = 2**30
CHUNK = bytes(2**20)
POSTS = ("predict", "learn", "correct", "forget", "undo", "merge")
GETS = ("info", "map", "confusions", "model", "export")
PATHS = (
    *(
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fapp.py",
        "/static//etc/passwd",
    ),
    *("/static/%252e%252e/app.py", "/static/..\\..\\app.py", "/static/%00", "//etc/passwd"),
    *("/static/....//app.py", "/static/%c0%ae%c0%ae/app.py", "/../../../etc/passwd", "/static/"),
    *("/api/v1/../../app.py", "/api/v1/model/../../etc/passwd", "/api/v1/model%00.clsnet"),
    *("/api/v2/info", "/api/v1/", "/api/v1/predict/x", "/.git/config", "/templates/page.html"),
    *(
        "file:///etc/passwd",
        "http://example.org/",
        "/api/v1/info/..;/model",
        "/static/%2fetc%2fpasswd",
    ),
)
NAMES = ("../../x.jpg", "/etc/passwd", "a\0b.jpg", "C:\\x.jpg", "x" * 9000, "\x1b[31m.png", "")


@dataclass(frozen=True)
class Hostile:
    """One request, as bytes; its body may be endless."""

    kind: str
    head: bytes
    body: Callable[[], Iterator[bytes]] = lambda: iter(())


class Stranger:
    """Makes requests to a server: those of somebody who may ask have `cookie` and `origin`."""

    def __init__(self, port: int, cookie: str, seed: int = 0) -> None:
        self.host = f"127.0.0.1:{port}"
        self.headers = {"Host": self.host, "Origin": f"http://{self.host}", "Cookie": cookie}
        self.random = random.Random(seed)
        self.photo = decoded_by_nobody()

    def all(self) -> Iterator[Hostile]:
        """Yield one request of each kind in turn, for ever."""
        kinds = (
            *(self.other_origin, self.other_host, self.no_token, self.path_trick),
            *(self.malformed, self.no_photo, self.bad_name, self.declared_body),
        )
        for number in itertools.count():
            if number % 100 == 7:
                yield self.endless_body()
            else:
                yield self.random.choice(kinds)()

    def request(
        self, kind: str, method: str, path: str, body: bytes = b"", **changed: str | None
    ) -> Hostile:
        headers = {**self.headers, "Content-Length": str(len(body))}
        for name, value in changed.items():
            headers[name.replace("_", "-")] = value
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        return Hostile(kind, head.encode("utf-8", "surrogateescape"), lambda: iter([body]))

    def form(self, files: list[tuple[str, bytes]], **fields: str) -> tuple[bytes, str]:
        """Return a multipart form and its content type."""
        parts = [
            f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in fields.items()
        ]
        for name, data in files:
            head = (
                f'--edge\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
            )
            parts.append(head.encode() + data + b"\r\n")
        return b"".join(parts) + b"--edge--\r\n", "multipart/form-data; boundary=edge"

    def honest(self, **changed: str | None) -> tuple[str, str, bytes, dict[str, str | None]]:
        """Return a request that would be answered, but for its headers."""
        if self.random.random() < 0.4:
            return "GET", f"/api/v1/{self.random.choice(GETS)}", b"", changed
        body, kind = self.form([("a.png", self.photo)], **{"class": "red"})
        verb = self.random.choice(POSTS)
        if verb == "forget" and self.random.random() < 0.5:
            body, kind = b'{"classes": ["red"]}', "application/json"
        return "POST", f"/api/v1/{verb}", body, {"Content_Type": kind, **changed}

    def sent(self, label: str, **changed: str | None) -> Hostile:
        method, path, body, headers = self.honest(**changed)
        return self.request(label, method, path, body, **headers)

    def other_origin(self) -> Hostile:
        origin = self.random.choice(
            ("http://evil.example", "null", "http://127.0.0.1:1", f"https://{self.host}", "")
        )
        site = self.random.choice(("cross-site", "same-site", None))
        if self.random.random() < 0.2:
            body, kind = self.form([("a.png", self.photo)])
            return self.request(
                "origin", "POST", "/api/v1/undo", body, Origin=None, Content_Type=kind
            )
        return self.sent("origin", Origin=origin, Sec_Fetch_Site=site)

    def other_host(self) -> Hostile:
        hosts = ("evil.example", f"evil.example:{self.host[10:]}", "127.0.0.1", "localhost:80", "")
        host = self.random.choice((*hosts, f"{self.host}.evil.example", f"x@{self.host}", None))
        return self.sent("host", Host=host, Origin=f"http://{host}")

    def no_token(self) -> Hostile:
        name = self.headers["Cookie"].partition("=")[0]
        wrong = (None, "", f"{name}=", f"{name}=guess", f"{name}={'x' * 43}", "clsnet=1", "=;=;,")
        more = {"Authorization": self.random.choice(("Bearer x", "Basic eDp4", "Bearer ", None))}
        if self.random.random() < 0.1:
            return self.request("token", "GET", "/?token=guess", Cookie=None)
        return self.sent("token", Cookie=self.random.choice(wrong), **more)

    def path_trick(self) -> Hostile:
        path = self.random.choice(PATHS)
        method = self.random.choice(("GET", "POST", "PUT", "DELETE", "PATCH"))
        return self.request("path", method, path)

    def malformed(self) -> Hostile:
        """A form that was damaged, or that holds what no form should."""
        body, kind = self.form([("a.png", self.photo)], **{"class": "red"})
        cut = self.random.randrange(20, len(body) - 10)
        field = b'--edge\r\nContent-Disposition: form-data; name="x"\r\n\r\ny\r\n'
        bodies = (
            *(body[:cut], b"", b"\0" * 500, body.replace(b"--edge", b"--edgy", 1)),
            *(field * 40 + body, body.replace(b'name="file"', b'name="else"')),
            *(
                body.replace(b"Content-Disposition", b"X" * 5000),
                body.replace(b"\r\n\r\n", b"\n", 1),
            ),
            self.form([("a.png", self.photo)] * 65, **{"class": "red"})[0],
        )
        choice = self.random.randrange(len(bodies) + 3)
        if choice < len(bodies):
            return self.request("form", "POST", "/api/v1/learn", bodies[choice], Content_Type=kind)
        kinds = ("text/plain", "multipart/form-data", f"multipart/form-data; boundary={'x' * 500}")
        return self.request(
            "form", "POST", "/api/v1/learn", body, Content_Type=kinds[choice - len(bodies)]
        )

    def no_photo(self) -> Hostile:
        """A bomb, or what is no photo, under a name that is a trick."""
        name = self.random.choice(NAMES).replace("\0", "%00").replace("\x1b", "%1b")
        name = name.replace("\\", "\\\\")
        body, kind = self.form([(name, self.random.choice(bombs()))], **{"class": "red"})
        verb = self.random.choice(("predict", "learn", "correct", "forget"))
        return self.request("photo", "POST", f"/api/v1/{verb}", body, Content_Type=kind)

    def bad_name(self) -> Hostile:
        names = ("", " ", "x" * 10_000, "a\x1b[31mb", "a\0b", "\u202eevil", "x" * 70_000, "a\nb")
        body, kind = self.form(
            [("a.png", self.photo)], **{"class": self.random.choice(names), "new": "true"}
        )
        verb = self.random.choice(("learn", "correct"))
        return self.request("name", "POST", f"/api/v1/{verb}", body, Content_Type=kind)

    def declared_body(self) -> Hostile:
        """A body that says how large it is."""
        size = self.random.choice((GIGABYTE, 2**40, 10**30, 64 * 2**20 + 1))
        made = self.request(
            "declared",
            "POST",
            f"/api/v1/{self.random.choice(('predict', 'learn', 'correct'))}",
            Content_Type="multipart/form-data; boundary=edge",
            Content_Length=str(size),
        )
        return Hostile("declared", made.head, lambda: itertools.repeat(CHUNK, 4))

    def endless_body(self) -> Hostile:
        """A gigabyte in chunks that do not say when they end."""
        made = self.request(
            "endless",
            "POST",
            "/api/v1/learn",
            Content_Type="multipart/form-data; boundary=edge",
            Content_Length=None,
            Transfer_Encoding="chunked",
        )
        start = self.form([("a.png", self.photo)])[0][:-8]
        chunk = b"%x\r\n" % len(CHUNK) + CHUNK + b"\r\n"

        def body() -> Iterator[bytes]:
            yield b"%x\r\n" % len(start) + start + b"\r\n"
            yield from itertools.repeat(chunk, GIGABYTE // len(CHUNK))

        return Hostile("endless", made.head, body)


def bombs(found: list[bytes] = []) -> list[bytes]:  # noqa: B006
    """Return files that nobody decodes."""
    if not found:
        made = [bomb(64) for name, bomb in BOMBS.items() if name != "gif-comment"]
        for data in [
            *made,
            *other_formats().values(),
            b"",
            b"PK\x03\x04" + bytes(999),
            b"no photo",
        ]:
            try:
                with warnings.catch_warnings(action="ignore"):
                    decode(data, 16)
            except Unreadable:
                found.append(data)
    return found


def decoded_by_nobody() -> bytes:
    """Return a photo that is one, so that only what surrounds it is hostile."""
    return BOMBS["png-alpha"](16)


def answer(port: int, hostile: Hostile) -> tuple[int, bytes]:
    """Send a request until it is answered; return the status, 0 if there is none, and the body."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(hostile.head)
            for part in hostile.body():
                connection.sendall(part)
        except OSError:  # the server has heard enough
            pass
        try:
            response = http.client.HTTPResponse(connection)
            response.begin()
            return response.status, response.read()
        except (http.client.HTTPException, OSError):
            return 0, b""


def accepted(status: int, body: bytes) -> bool:
    """Whether something was given away or done; that a photo cannot be read is neither."""
    if not 200 <= status < 400:
        return False
    answers = json.loads(body).get("answers", [{}]) if body.startswith(b"{") else [{}]
    return not all("error" in one for one in answers)


def attacked(number: int) -> dict[str, Any]:
    """Send so many requests to a real page, and see what becomes of it and of its model."""
    tried: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    taken: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        model = taught(Path(name))
        before = model.read_bytes()
        with Running("page", model) as page:
            stranger = Stranger(page.port, page.cookie)
            for hostile in itertools.islice(stranger.all(), number):
                status, body = answer(page.port, hostile)
                tried[hostile.kind] += 1
                statuses[str(status)] += 1
                if accepted(status, body):
                    taken.append(f"{hostile.head[:200]!r}: {status} {body[:200]!r}")
            alive = page.get("/api/v1/info")[0] == 200
        untouched = model.read_bytes() == before
        left = [file.name for file in Path(name).iterdir() if file.name.endswith((".lock", ".tmp"))]
    return {
        "tried": sum(tried.values()),
        "accepted": len(taken),
        "examples": taken[:5],
        "crashed": int(not alive) + statuses["500"],
        "model_changed": not untouched,
        "left_behind": left,
        "kinds": dict(sorted(tried.items())),
        "statuses": dict(sorted(statuses.items())),
    }


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if re.fullmatch(r"\d+", word)]
    print(json.dumps(attacked(*(numbers or [500])), indent=1))
