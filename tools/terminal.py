"""Record a real terminal run as an animated SVG: ``python tools/terminal.py FILE.svg``.

The commands run in a new folder with drawn photos. What they print is shown as it is, and after as
many seconds as it took, but for long waits. The picture follows the light or dark mode of its
reader, and stands still for those who want less motion.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from html import escape
from pathlib import Path

from draw_photos import draw_photos

COMMANDS = (
    "clsnet learn fruit.clsnet photos/january",
    "clsnet predict fruit.clsnet inbox",
    "clsnet learn fruit.clsnet photos/february",
    "clsnet predict fruit.clsnet inbox",
    "clsnet forget fruit.clsnet banana --purge",
    "clsnet predict fruit.clsnet inbox",
)
COLUMNS, ROWS = 74, 21
WIDTH, HEIGHT = 8.43, 17  # pixels of one character
MARGIN, BAR = 16, 30
TYPING = 0.035  # seconds a character
LONGEST_WAIT = 1.0
READING = 0.28  # seconds a line
STYLE = """
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  white-space: pre; fill: #24292f; }
.back { fill: #f6f8fa; stroke: #d0d7de; }
.prompt { fill: #1a7f37; }
.command { font-weight: bold; }
.line { animation: var(--a) var(--all) step-end infinite; }
.typed { animation: var(--a) var(--all) infinite; }
.paper { animation: scroll var(--all) step-end infinite; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .back { fill: #0d1117; stroke: #30363d; }
  .prompt { fill: #3fb950; }
}
@media (prefers-reduced-motion: reduce) { * { animation: none !important; } }
"""


@dataclass
class Line:
    """A line on the screen: what it says, when it appears, and how long it is typed."""

    text: str
    start: float
    typing: float = 0.0


def printed(command: str, folder: Path) -> tuple[list[str], float]:
    """Run a command; return the lines that it prints, and its seconds."""
    words = [sys.executable, "-m", *command.split()]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "PYTHONIOENCODING": "utf-8"}
    start = time.perf_counter()
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.splitlines(), time.perf_counter() - start


def recorded() -> tuple[list[Line], float]:
    """Return all lines, and the seconds that the whole takes."""
    lines, now = [], 0.5
    with tempfile.TemporaryDirectory() as name:
        draw_photos(Path(name))
        for command in COMMANDS:
            typing = TYPING * len(command)
            lines.append(Line(command, now, typing))
            told, seconds = printed(command, Path(name))
            now += typing + min(seconds, LONGEST_WAIT)
            lines += [Line(line, now) for line in told] + [Line("", now)]
            now += 1 + READING * len(told)
    return lines, now + 2


def svg(lines: list[Line], seconds: float) -> str:
    """Draw lines that appear at their times, and scroll when the screen is full."""

    def percent(time: float) -> str:
        return f"{100 * time / seconds:.2f}%"

    rules, texts, top = [], [], MARGIN + BAR
    hidden = "clip-path: inset(0 100% 0 0)"
    for i, line in enumerate(lines):
        y = top + HEIGHT * (i + 1) - 4
        start = percent(line.start)
        rules.append(f"@keyframes l{i} {{ 0% {{ opacity: 0 }} {start} {{ opacity: 1 }} }}")
        if line.typing:
            end = percent(line.start + line.typing)
            rules.append(
                f"@keyframes t{i} {{ 0% {{ {hidden} }} {start} {{ {hidden}; "
                f"animation-timing-function: steps({len(line.text)}) }} "
                f"{end}, 100% {{ clip-path: inset(0 0 0 0) }} }}"
            )
            texts.append(
                f'<text class="line prompt" style="--a: l{i}" x="{MARGIN}" y="{y}">$</text>'
                f'<text class="typed command" style="--a: t{i}" x="{MARGIN + 2 * WIDTH:.2f}" '
                f'y="{y}">{escape(line.text)}</text>'
            )
        elif line.text:
            where = f'style="--a: l{i}" x="{MARGIN}" y="{y}"'
            texts.append(f'<text class="line" {where}>{escape(line.text)}</text>')
    steps = {0.0: 0}
    for i, line in enumerate(lines):
        steps[line.start] = -HEIGHT * max(0, i + 1 - ROWS)
    moves = " ".join(f"{percent(t)} {{ transform: translateY({y}px) }}" for t, y in steps.items())
    rules.append(f"@keyframes scroll {{ {moves} }}")
    width, height = int(2 * MARGIN + COLUMNS * WIDTH), top + ROWS * HEIGHT + MARGIN
    dots = "".join(
        f'<circle cx="{MARGIN + 6 + 20 * i}" cy="20" r="6" fill="{colour}"/>'
        for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    rules_text = "\n".join(rules)
    drawn = "\n".join(texts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>clsnet learns two classes, then a third, and forgets one</title>
<style>:root {{ --all: {seconds:.1f}s }}{STYLE}{rules_text}</style>
<clipPath id="screen">
<rect x="0" y="{top}" width="{width}" height="{ROWS * HEIGHT + 4}"/>
</clipPath>
<rect class="back" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>
{dots}
<g clip-path="url(#screen)"><g class="paper">
{drawn}
</g></g>
</svg>
"""


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(svg(*recorded()), encoding="utf-8")
