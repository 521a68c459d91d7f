"""Forms with files, received within limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from clsnet.images.endings import PHOTOS, ending
from clsnet.page.refusals import FULL, Refused
from clsnet.page.scratch import Scratch

MEGABYTE = 2**20
MOST_PHOTOS = 64
MOST_BYTES = 64 * MEGABYTE  # of a request with photos
MOST_MODEL = 512 * MEGABYTE  # of a request with a model
MOST_TEXT = 2**16  # bytes of a field that is no file
MOST_FIELDS = 8
LONGEST_NAME = 255
PATIENCE = 30.0  # seconds without a byte
SLOWEST = 2**12  # bytes per second, on average


@dataclass
class Form:
    """What was uploaded.

    Attributes
    ----------
    fields
        Texts by name.
    names
        Files, and what the client calls them: good for messages, and for nothing else.
    """

    fields: dict[str, str] = field(default_factory=dict)
    names: dict[Path, str] = field(default_factory=dict)

    @property
    def files(self) -> list[Path]:
        """The files in the order in which they came."""
        return list(self.names)


@asynccontextmanager
async def received(
    request: Request,
    scratch: Scratch,
    *,
    files: str = "file",
    most_files: int = MOST_PHOTOS,
    most_bytes: int = MOST_BYTES,
) -> AsyncIterator[Form]:
    """Receive a form, and remove its files at the end.

    Parameters
    ----------
    request
        The request.
    scratch
        Where to put the files.
    files
        Name of the fields that are files.
    most_files, most_bytes
        How many files, and bytes in all, there may be.
    """
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise Refused(415, "no-form", "Send photos as multipart/form-data, in fields named file.")
    with scratch.places() as place:
        reader = _Reader(place, files, most_files)
        try:
            parser = MultipartParser(options[b"boundary"], reader.callbacks)
            async for chunk in body(request, most_bytes):
                parser.write(chunk)
            parser.finalize()
        except (FormParserError, UnicodeDecodeError):
            raise Refused(400, "bad-form", "The request is no whole multipart form.") from None
        except OSError as error:
            if error.errno not in FULL:
                raise
            message = "The disk is full: there is no room for the photos; make room and try again."
            raise Refused(507, "disk-full", message) from None
        finally:
            reader.close()
        if not reader.complete:
            raise Refused(400, "bad-form", "The request is no whole multipart form.")
        yield reader.form


def need_photos(form: Form) -> None:
    """Refuse a form without photos."""
    if not form.files:
        raise Refused(400, "no-photo", "Send at least one photo, in a field named file.")


async def body(request: Request, most: int) -> AsyncIterator[bytes]:
    """Yield a request's body as it comes, up to a number of bytes, unless it comes too slowly."""
    too_large = Refused(413, "too-large", f"Send at most {most // MEGABYTE or 1} MB at once.")
    with suppress(ValueError):
        if int(request.headers.get("content-length", "0")) > most:
            raise too_large
    left = most
    chunks = request.stream()
    clock = asyncio.get_running_loop().time
    begun = clock()
    while True:
        late = begun + PATIENCE + (most - left) / SLOWEST
        try:
            async with asyncio.timeout_at(min(late, clock() + PATIENCE)):
                chunk = await anext(chunks, None)
        except TimeoutError:
            raise Refused(408, "too-slow", "The photos did not arrive in time.") from None
        except ClientDisconnect:
            raise Refused(400, "gone", "The client went away.") from None
        if chunk is None:
            return
        left -= len(chunk)
        if left < 0:
            raise too_large
        yield chunk


class _Reader:
    """Puts the parts of a form where they belong, as the parser finds them."""

    def __init__(self, place: Callable[[str], Path], files: str, most_files: int) -> None:
        self.form = Form()
        self.complete = False
        self._place, self._files, self._most_files = place, files, most_files
        self._headers: dict[bytes, bytes] = {}
        self._header, self._value = b"", b""
        self._name = ""
        self._text = b""
        self._file: IO[bytes] | None = None

    @property
    def callbacks(self) -> Any:
        """What the parser calls."""
        return {
            "on_part_begin": self._part_begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._part_data,
            "on_part_end": self._part_end,
            "on_end": self._end,
        }

    def close(self) -> None:
        """Close the file that is open, if any."""
        if self._file is not None:
            with suppress(OSError):  # what could not be written is removed anyway
                self._file.close()
            self._file = None

    def _part_begin(self) -> None:
        self._headers, self._text = {}, b""

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header, self._value = b"", b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        self._name = options.get(b"name", b"").decode()
        if self._name == self._files:
            self._open(options.get(b"filename", b"").decode(errors="replace"))
        elif not self._name or b"filename" in options:
            raise Refused(400, "bad-form", f"Files belong into fields named {self._files}.")
        elif len(self.form.fields) >= MOST_FIELDS or self._name in self.form.fields:
            raise Refused(400, "bad-form", "A field is given twice, or there are too many.")

    def _open(self, name: str) -> None:
        number = len(self.form.names)
        if number >= self._most_files:
            raise Refused(413, "too-many", f"Send at most {self._most_files} files at once.")
        kind = end if (end := ending(name)) in PHOTOS else ""
        path = self._place(kind)
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
        self.form.names[path] = shown[-LONGEST_NAME:] or f"photo {number + 1}"
        self._file = path.open("xb")

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(data[start:end])
            return
        self._text += data[start:end]
        if len(self._text) > MOST_TEXT:
            raise Refused(413, "too-large", f"The field {self._name} is too long.")

    def _part_end(self) -> None:
        if self._file is None:
            self.form.fields[self._name] = self._text.decode()
        else:
            self._file.flush()
        self.close()

    def _end(self) -> None:
        self.complete = True
