"""Clients that send slowly, or nothing, over real sockets."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import uvicorn

from clsnet.page import connections, uploads
from clsnet.page.app import api_app
from clsnet.page.launching import LOOPBACK, bound, configured, loopback_names
from clsnet.page.session import Bearer
from clsnet.page.workbench import Workbench
from tests.page.running import form

PATIENCE = 0.5
GET = b"GET /api/v1/info HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"
Connect = Callable[[], socket.socket]


@pytest.fixture
def bench(model) -> Workbench:
    return Workbench(model)


@pytest.fixture
def served(bench, monkeypatch) -> Iterator[tuple[Connect, int]]:
    """Opens connections to a server that waits for half a second."""
    monkeypatch.setattr(connections, "PATIENCE", PATIENCE)
    monkeypatch.setattr(connections, "MOST_WAITING", 20)
    monkeypatch.setattr(uploads, "PATIENCE", PATIENCE)
    listening = bound(LOOPBACK, 0)
    port = listening.getsockname()[1]
    app = api_app(bench, Bearer(None), loopback_names(port))
    server = uvicorn.Server(configured(lambda: app))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    opened: list[socket.socket] = []

    def connect() -> socket.socket:
        opened.append(socket.create_connection((LOOPBACK, port), timeout=20))
        return opened[-1]

    yield connect, port
    for one in opened:
        one.close()
    server.should_exit = True
    thread.join(20)
    assert connections.PromptConnection.waiting == {}


def trickle(connection: socket.socket, data: bytes, pause: float = 0.02) -> tuple[float, bytes]:
    """Send byte after byte until the server closes; return after how long, and what it said."""
    begun = time.monotonic()
    heard = b""
    connection.settimeout(pause)
    for byte in data:
        try:
            connection.sendall(bytes([byte]))
            if not (part := connection.recv(2**16)):
                break
            heard += part
        except TimeoutError:
            continue
        except OSError:
            break
    else:
        raise AssertionError("the server never closed the connection")
    return time.monotonic() - begun, heard


def answered(connection: socket.socket, port: int) -> bool:
    connection.settimeout(20)
    connection.sendall(GET % port)
    return connection.recv(2**16).startswith(b"HTTP/1.1 200 ")


def test_a_header_that_comes_byte_by_byte_is_not_waited_for(served):
    connect, _ = served
    took, heard = trickle(connect(), b"GET /api/v1/info HTTP/1.1\r\nX: " + b"x" * 1000)
    assert PATIENCE * 0.9 < took < PATIENCE * 6
    assert heard == b""


def test_nor_is_the_second_one_or_a_body_that_nobody_reads(served):
    connect, port = served
    connection = connect()
    assert answered(connection, port)
    assert trickle(connection, b"GET /" + b"x" * 1000)[0] < PATIENCE * 6
    refused = b"POST /api/v1/predict HTTP/1.1\r\nHost: evil\r\nContent-Length: 9999\r\n\r\n"
    connection = connect()
    connection.sendall(refused)
    assert connection.recv(2**16).startswith(b"HTTP/1.1 403 ")
    assert trickle(connection, b"x" * 1000)[0] < PATIENCE * 6


def test_silent_connections_do_not_keep_others_out(served):
    connect, port = served
    silent = [connect() for _ in range(60)]
    assert all(answered(connect(), port) for _ in range(3))
    assert silent[0].recv(1) == b""  # whoever has waited longest makes room


def test_a_body_that_comes_too_slowly_is_refused_and_leaves_nothing(served, bench, photos):
    connect, port = served
    connection = connect()
    body, kind = form([("a.png", photos("red")[0].read_bytes())])
    head = f"POST /api/v1/predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: {kind}\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode())
    took, heard = trickle(connection, body[:1000])
    assert heard.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"too-slow"' in heard
    assert took < PATIENCE * 6
    assert list((bench.scratch.root / "uploads").iterdir()) == []


def test_a_body_that_comes_steadily_is_answered_however_long_it_takes(served, photos):
    connect, port = served
    connection = connect()
    body, kind = form([("a.png", photos("red")[0].read_bytes())])
    head = f"POST /api/v1/predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: {kind}\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode())
    begun = time.monotonic()
    for start in range(0, len(body), 1000):
        connection.sendall(body[start : start + 1000])
        time.sleep(2 * PATIENCE / (len(body) / 1000))
    assert time.monotonic() - begun > PATIENCE
    assert connection.recv(2**16).startswith(b"HTTP/1.1 200 ")
