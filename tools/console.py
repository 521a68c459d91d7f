"""Run what pages show of a terminal: ``python tools/console.py PAGE.md ...``.

A block ``console`` holds commands after ``$`` and what they print. This runs them in a new folder
with drawn photos, block after block, and writes into the page what they print now. ``pip`` is left
alone. The tests compare a page with what `played` makes of it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from draw_photos import draw_photos

BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.DOTALL)
PROMPT = "$ "
COLUMNS = "90"
HOME = "/home/me"


def played(page: str, run: Callable[[list[str]], str]) -> str:
    """Return a page with what its commands print now.

    Parameters
    ----------
    page
        The text of the page.
    run
        Runs the words of a command, and returns what it prints.
    """

    def again(match: re.Match[str]) -> str:
        lines = []
        for line in match[0].splitlines():
            if not line.startswith(PROMPT):
                continue
            words = shlex.split(line.removeprefix(PROMPT), comments=True)
            told = "" if words[0] == "pip" else run(words).rstrip()
            lines += [line, told] if told else [line]
        return "\n".join(lines) + "\n"

    return BLOCK.sub(again, page)


def run(words: list[str], folder: Path) -> str:
    """Run a command in a folder, which it calls HOME."""
    done = subprocess.run(
        [sys.executable, "-m", *words] if words[0] == "clsnet" else words,
        cwd=folder,
        env={**os.environ, "COLUMNS": COLUMNS},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout.replace(str(folder), HOME)


def main(pages: list[Path]) -> None:
    """Write pages anew."""
    for page in pages:
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            draw_photos(folder)
            now = played(text, partial(run, folder=folder))
        page.write_text(now, encoding="utf-8")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
