"""Errors as a client is told them: a status, a code for programs, a sentence for people."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from clsnet.errors import ClsnetError
from clsnet.page.scratch import SOURCE
from clsnet.photos.class_names import UnknownClass

MISSING = re.compile("there is no model|No such file")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HERE = {  # advice for the command line, and what to do instead
    "; --new creates it": "; new=true creates it",
    r" \(clsnet forget [^)]*--photo PATH\)": ": send them to forget, then merge again",
    r"forget its photos \(--photo FOLDER\), or .* --keep classes": "send its photos to forget",
    "with --keep total": "with one total over all classes",
    "with --keep classes": "with sums for each class",
}


class Refused(Exception):
    """A request that is not answered.

    Parameters
    ----------
    status
        Of HTTP.
    code
        One word for programs.
    message
        One sentence for people.
    more
        What else the client is told.
    """

    def __init__(self, status: int, code: str, message: str, **more: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.more = status, code, message, more

    def response(self) -> JSONResponse:
        """Return it as an answer."""
        about = {"code": self.code, "message": self.message, **self.more}
        return JSONResponse({"error": about}, self.status)


def told(error: ClsnetError, model: Path, names: Mapping[Path, str] | None = None) -> Refused:
    """Return an error of a verb as a client may see it: with names of files, without paths.

    Parameters
    ----------
    error
        The error.
    model
        The file of the model.
    names
        What uploaded files are called.
    """
    message = in_own_words(str(error), {**(names or {}), model: model.name})
    for advice, here in HERE.items():
        message = re.sub(advice, here, message)
    if isinstance(error, UnknownClass):
        nearest = {"nearest": error.nearest} if error.nearest else {}
        return Refused(404, "no-such-class", message, **nearest)
    message = message.replace(f" in {SOURCE}.", ".")  # no folder that the client knows
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in FULL:
            return Refused(507, "disk-full", f"{message.rstrip('.')}; make room and try again.")
        if isinstance(cause, TimeoutError):
            return Refused(409, "busy", message)
    if not model.exists() and MISSING.search(message):
        return Refused(404, "no-model", f"There is no model {model.name} yet: teach it a class.")
    return Refused(422, "not-done", message)


def in_own_words(line: str, names: Mapping[Path, str]) -> str:
    """Return a line in which files have the names that the client knows."""
    for path, name in names.items():
        line = line.replace(str(path), name)
    return line


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


async def on_refused(request: Request, error: Exception) -> Response:
    """Answer a request that was refused."""
    assert isinstance(error, Refused)
    return error.response()


async def on_http(request: Request, error: Exception) -> Response:
    """Answer a request for what is not there."""
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    code = phrase.lower().replace(" ", "-")
    response = Refused(error.status_code, code, f"{phrase}: {request.url.path}").response()
    response.headers.update(error.headers or {})
    return response


async def on_failure(request: Request, error: Exception) -> Response:
    """Answer after a failure of this program; the server shows what happened in the terminal."""
    message = "Something went wrong inside clsnet; the terminal that runs it tells what."
    return Refused(500, "failed", message).response()


HANDLERS: dict[Any, Any] = {
    Refused: on_refused,
    HTTPException: on_http,
    Exception: on_failure,
}
