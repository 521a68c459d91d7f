"""Start the servers."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
import threading
import webbrowser
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from clsnet.errors import ClsnetError
from clsnet.extractor.runtime.threads import n_threads
from clsnet.header import read
from clsnet.page.app import api_app, page_app
from clsnet.page.connections import PromptConnection
from clsnet.page.session import Bearer, Session
from clsnet.page.workbench import Workbench
from clsnet.storage.files import at_home
from clsnet.storage.regular_files import read_regular

LOOPBACK = "127.0.0.1"
MOST_TOKEN, SHORTEST_TOKEN = 4096, 16  # bytes of its file, and letters


def open_page(
    model: Path,
    *,
    port: int = 0,
    browser: bool = True,
    allow: Collection[str] = (),
    say: Callable[[str], None],
) -> None:
    """Serve the page of a model to this machine until Ctrl-C.

    Parameters
    ----------
    model
        The file of the model; made when the first class is taught.
    port
        Where to serve; 0 is any that is free.
    browser
        Whether to open a browser.
    allow
        Networks that the file may refer to; see `clsnet.load`.
    say
        Told the address.
    """
    path = place_of(model)
    listening = bound(LOOPBACK, port)
    port = listening.getsockname()[1]
    session = Session(port)
    app = page_app(Workbench(path, allow=allow), session, loopback_names(port))
    address = f"http://{LOOPBACK}:{port}/?token={session.token}"
    say(address)
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    uvicorn.Server(configured(lambda: app)).run([listening])


def serve(
    model: Path,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    token_file: Path | None = None,
    teach: bool = False,
    workers: int = 1,
    allow: Collection[str] = (),
    say: Callable[[str], None],
) -> None:
    """Serve the API of a model until Ctrl-C.

    Parameters
    ----------
    model
        The file of the model.
    host, port
        Where to serve; port 0 is any that is free.
    token_file
        Holds the token that programs have to send; needed unless only this machine is served.
    teach
        Whether the model may be changed.
    workers
        Processes that answer.
    allow
        Networks that the file may refer to; see `clsnet.load`.
    say
        Told the address.
    """
    path = place_of(model)
    if not path.exists() and not teach:
        raise ClsnetError(f"there is no model {model}; --teach lets programs make it.")
    token = None if token_file is None else read_token(token_file)
    if token is None and not is_loopback(host):
        raise ClsnetError(
            f"{host} can be reached by other machines, so a token is needed: "
            "--token-file FILE, with a long random word in it."
        )
    listening = bound(host, port)
    port = listening.getsockname()[1]
    hosts = frozenset(loopback_names(port)) if is_loopback(host) else None
    served = Served(path, token, teach, hosts, tuple(allow))
    say(f"http://{f'[{host}]' if ':' in host else host}:{port}/api/v1")
    if workers == 1:
        uvicorn.Server(configured(served)).run([listening])
        return
    with shared_cores(workers):
        Multiprocess(configured(served, workers), [listening]).run()


@dataclass(frozen=True)
class Served:
    """Makes the application of `serve`, in whatever process.

    Attributes
    ----------
    model
        The file of the model.
    token
        What programs have to send; None if nothing.
    teach
        Whether the model may be changed.
    hosts
        What the Host header may be; None if anything.
    allow
        Networks that the file may refer to.
    """

    model: Path
    token: str | None
    teach: bool
    hosts: frozenset[str] | None
    allow: tuple[str, ...] = ()

    def __call__(self) -> ASGIApp:
        """Return the application."""
        bench = Workbench(self.model, self.teach, self.allow)
        return api_app(bench, Bearer(self.token), self.hosts)


@contextmanager
def shared_cores(workers: int) -> Iterator[None]:
    """Let each of several processes run its network on a share of the processors."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(max(1, n_threads() // workers))
    try:
        yield
    finally:
        os.environ.pop("OMP_NUM_THREADS")
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


def read_token(file: Path) -> str:
    """Return the token in a file, or say what is wrong with it."""
    try:
        token = read_regular(at_home(file), MOST_TOKEN).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it holds more than plain letters"
        raise ClsnetError(f"cannot read the token in {file}: {reason}.") from None
    if len(token) < SHORTEST_TOKEN or not token.isprintable() or " " in token:
        raise ClsnetError(
            f"the token in {file} has to be one word of {SHORTEST_TOKEN} characters or more; "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one."
        )
    return token


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    Examples
    --------
    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def configured(make_app: Callable[[], ASGIApp], workers: int = 1) -> uvicorn.Config:
    """Return how the server runs: it writes no log, since addresses hold tokens."""
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    return uvicorn.Config(
        make_app,
        factory=True,
        http=PromptConnection,
        workers=workers,
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
    )


def place_of(model: Path) -> Path:
    """Return the whole path of a model, or say why there is none or can be none."""
    path = at_home(model).resolve()
    if path.is_dir():
        raise ClsnetError(f"{model} is a folder: name the model's file, such as pets.clsnet.")
    if not path.parent.is_dir():
        raise ClsnetError(f"there is no folder {path.parent} for the model.")
    if path.exists():
        read(path)
    return path


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets that name their protocol; without it, an answer
    # waits 40 ms for the acknowledgement of its header.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise ClsnetError(f"cannot listen on {host}, port {port}: {reason}.") from None
    listening.listen(128)
    return listening


def loopback_names(port: int) -> set[str]:
    """Return what the Host header of this machine may be."""
    return {f"{name}:{port}" for name in (LOOPBACK, "localhost", "[::1]")}
