"""Draw the diagrams of the documentation: ``python tools/diagrams.py FOLDER``."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

STYLE = """
text { font: 15px system-ui, sans-serif; fill: #24292f; text-anchor: middle; }
.small { font-size: 12.5px; fill: #57606a; }
.box { fill: #f6f8fa; stroke: #8c959f; stroke-width: 1.5; }
.frozen { fill: #ddf4ff; stroke: #54aeff; }
.kept { fill: #dafbe1; stroke: #4ac26b; }
.gone { fill: none; stroke: #8c959f; stroke-dasharray: 5 4; }
path { fill: none; stroke: #57606a; stroke-width: 1.5; marker-end: url(#tip); }
#tip path { fill: #57606a; stroke: none; marker-end: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .small { fill: #9da7b1; }
  .box { fill: #161b22; stroke: #6e7681; }
  .frozen { fill: #0c2d4a; stroke: #388bfd; }
  .kept { fill: #0f2d1a; stroke: #2ea043; }
  .gone { fill: none; stroke: #6e7681; }
  path { stroke: #9da7b1; }
  #tip path { fill: #9da7b1; }
}
"""
TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker>'
)
LINE = 19


def box(x: int, y: int, width: int, height: int, kind: str, *lines: str) -> str:
    """Return a box with a title and smaller lines below it."""
    first = y + height / 2 - LINE * (len(lines) - 1) / 2 + 5
    texts = [
        f'<text class="{"" if i == 0 else "small"}" x="{x + width / 2:g}" '
        f'y="{first + LINE * i:g}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    ]
    shape = f'<rect class="box {kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>'
    return shape + "".join(texts)


def arrow(*points: tuple[int, int]) -> str:
    return '<path d="M' + " L".join(f"{x} {y}" for x, y in points) + '"/>'


def note(x: int, y: int, text: str) -> str:
    return f'<text class="small" x="{x}" y="{y}">{escape(text)}</text>'


def picture(width: int, height: int, title: str, *parts: str) -> str:
    drawn = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n<defs>{TIP}</defs>\n"
        f"{drawn}\n</svg>\n"
    )


def subnetworks() -> str:
    return picture(
        720,
        250,
        "The two subnetworks: a frozen extractor, and a classifier that learns",
        note(250, 24, "Subnetwork I: the extractor. It never changes."),
        note(555, 24, "Subnetwork II: the classifier. It learns."),
        box(10, 80, 90, 70, "", "sample", "X"),
        arrow((100, 115), (135, 115)),
        box(137, 70, 115, 90, "frozen", "backbone", "a network,", "or patches"),
        arrow((252, 115), (285, 115)),
        box(287, 70, 125, 90, "frozen", "random nodes", "from a seed"),
        arrow((412, 115), (449, 115)),
        note(431, 105, "A"),
        box(451, 70, 130, 90, "kept", "weights Ω", "scores = A Ω"),
        arrow((581, 115), (616, 115)),
        box(618, 80, 92, 70, "", "class", "the highest"),
        box(451, 190, 130, 48, "kept", "sums", "A′A and A′Y"),
        arrow((516, 190), (516, 162)),
        note(585, 180, "one linear solve"),
    )


def flow() -> str:
    rows = []
    for i, month in enumerate(("january", "february", "march")):
        y = 20 + 78 * i
        rows += [
            box(10, y, 120, 56, "gone", month, "photos, not kept"),
            arrow((130, y + 28), (168, y + 28)),
            box(170, y, 130, 56, "frozen", "features", "not kept"),
            arrow((300, y + 28), (338, 126)),
        ]
    return picture(
        720,
        252,
        "The flow of data: photos become features, features are added to sums, and then go",
        *rows,
        box(340, 88, 130, 76, "kept", "sums", "of each class,", "in the file"),
        arrow((470, 126), (508, 126)),
        box(510, 98, 90, 56, "kept", "weights", "in the file"),
        arrow((600, 126), (628, 126)),
        box(630, 98, 80, 56, "", "answers"),
        note(405, 190, "forget: remove"),
        note(405, 207, "the sums of a class"),
        note(405, 62, "merge: add the sums"),
        note(405, 79, "of two files"),
    )


def kept() -> str:
    names = (
        ("total", ["one sum", "of everything"], "nothing", 1),
        ("tasks", ["sum of", "task"], "any task", 3),
        ("classes", ["sum of", "class"], "any class", 5),
    )
    parts = [
        note(80, 22, "retain="),
        note(400, 22, "what the file keeps"),
        note(640, 22, "it can forget"),
    ]
    for row, (name, lines, can, count) in enumerate(names):
        y = 38 + 70 * row
        parts.append(box(20, y, 120, 52, "", f'"{name}"'))
        width = (380 - 10 * (count - 1)) // count
        for i in range(count):
            number = "" if count == 1 else f" {i + 1}"
            told = lines[0], lines[1] + number
            parts.append(box(170 + i * (width + 10), y, width, 52, "kept", *told))
        parts.append(note(640, y + 30, can))
    return picture(
        720, 245, "What is kept: one sum, one for each task, or one for each class", *parts
    )


PICTURES = {"subnetworks": subnetworks, "flow": flow, "kept": kept}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")
