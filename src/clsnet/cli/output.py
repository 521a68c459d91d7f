"""All output: no control character of a file or a name reaches the terminal."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterable
from typing import Any

import typer

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
UNKNOWN = "backslashreplace"  # what becomes of characters that an encoding does not have
RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r")


def plain(text: object, kept: str = "") -> str:
    r"""Return a text on one line, with a sign for each unprintable character.

    Parameters
    ----------
    text
        From any source: a name, a path, an error, a string of a file.
    kept
        Characters that stay as they are.

    Examples
    --------
    >>> plain("a\x1b[31m\nb")
    'a�[31m�b'
    """
    return "".join(c if c.isprintable() or c in kept else REPLACEMENT for c in str(text))


def cell(text: object) -> str:
    """Return a CSV cell that no spreadsheet will run as a formula.

    Examples
    --------
    >>> cell("=1+1"), cell("a=b")
    ("'=1+1", 'a=b')
    """
    whole = str(text)
    return f"'{plain(whole)}" if whole.startswith(RUN_BY_SPREADSHEETS) else plain(whole)


def echo(line: object = "", err: bool = False) -> None:
    """Print one line."""
    typer.echo(plain(line), err=err)


def say(line: object) -> None:
    """Print a line beside the output."""
    echo(f"clsnet: {line}", err=True)


class PlainStream:
    """A text stream that writes a sign for each unprintable character except line ends."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        if not isinstance(text, str):  # by which click knows streams of text
            raise TypeError(f"write a str, not {type(text).__name__}")
        encoding = self.stream.encoding or "utf-8"
        self.stream.write(plain(text, "\n").encode(encoding, UNKNOWN).decode(encoding))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def protect_streams() -> None:
    """Protect everything that this process prints from now on; warnings become one line."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, PlainStream):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors=UNKNOWN)
            setattr(sys, name, PlainStream(stream))
    # Pillow warns of photos just below the size from which they are refused.
    warnings.filterwarnings("ignore", message="Image size .* exceeds limit")
    warnings.showwarning = lambda message, *_, **__: say(message)
