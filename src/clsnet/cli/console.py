"""Tables, colours and progress; names in them are never read as markup."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from clsnet.cli.output import PlainStream, plain

WIDTH = 80


class PlainConsole(Console):
    r"""A console that prints text without control characters or markup.

    Examples
    --------
    >>> PlainConsole().tell("[bold]a\x1b[31m")
    [bold]a�[31m
    """

    def __init__(self, stderr: bool = False, quiet: bool = False) -> None:
        stream = sys.stderr if stderr else sys.stdout
        if isinstance(stream, PlainStream):
            stream = stream.stream  # colours are control characters
        super().__init__(file=stream, quiet=quiet, markup=False, emoji=False, highlight=False)
        if not self.width:  # COLUMNS=0, where a table would be nothing
            self.width = WIDTH

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is to be printed; `control` marks what moves the cursor."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else plain(text, "\n"), style, control)

    def tell(self, text: object, style: str | None = None) -> None:
        """Print one line of any length, unwrapped."""
        self.print(plain(text), style=style, soft_wrap=True)
