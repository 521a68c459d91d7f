"""A page about a test: its figures and thumbnails of the confused photos, in one file."""

from __future__ import annotations

import base64
import hashlib
import html
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from clsnet.photos.reading import read
from clsnet.photos.testing import Mistake, Tested
from clsnet.photos.wording import many
from clsnet.storage.files import write_atomically

SIDE = 128  # pixels of a small photo
MOST = 300  # small photos
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
STYLE = """
:root { --page: #fff; --ink: #1b1f24; --muted: #5c646d; --line: #d8dee4; --accent: #0b62b0; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0f1317; --ink: #e8ecf0; --muted: #9aa4af; --line: #313a44; --accent: #62b0f5; }
}
html { background: var(--page); color: var(--ink); color-scheme: light dark; }
body { margin: 0 auto; max-width: 70rem; padding: 2rem 1rem 3rem; overflow-wrap: anywhere;
  font: 1rem/1.5 system-ui, sans-serif; }
.brand { margin: 0; color: var(--accent); font-weight: 700; }
h1 { margin: 0 0 .5rem; line-height: 1.2; }
h2 { margin: 2.5rem 0 .5rem; }
table { border-collapse: collapse; }
th, td { padding: .3rem .7rem; border-top: 1px solid var(--line); text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
.photos { display: flex; flex-wrap: wrap; gap: 1rem; margin: 0; padding: 0; list-style: none; }
.photos li { width: 8.5rem; font-size: .8rem; }
.photos img { display: block; width: 128px; height: 128px; border-radius: 4px; }
.muted { color: var(--muted); }
"""


def write_page(tested: Tested, path: Path, model: str, folder: str) -> None:
    """Write the page.

    Parameters
    ----------
    tested
        What became of the photos.
    path
        The page; what was there is replaced.
    model, folder
        Their names.
    """
    write_atomically(path, page(tested, model, folder).encode())


def page(tested: Tested, model: str, folder: str) -> str:
    """Return the page; every name in it is text, and its policy lets one style and images pass."""
    parts = [
        '<p class="brand">clsnet</p>',
        f"<h1>{text(model)} on {text(folder)}</h1>",
        *_figures(tested),
        *_classes(tested),
        *_mistakes(tested.mistakes[:MOST], len(tested.mistakes)),
    ]
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{text(model)} on {text(folder)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            *parts,
            "</body>",
            "</html>",
            "",
        ]
    )


def text(value: object) -> str:
    r"""Return a text as HTML shows it, with a sign in place of control characters.

    Examples
    --------
    >>> text("<script>\n")
    '&lt;script&gt;�'
    """
    return html.escape("".join(c if c.isprintable() else REPLACEMENT for c in str(value)))


def _figures(tested: Tested) -> Iterable[str]:
    if tested.n:
        low, high = tested.interval
        yield (
            f"<p><strong>{tested.accuracy:.1%}</strong> of {many(tested.n, 'photo')} right (95 % "
            f"interval {low:.1%} to {high:.1%}). Balanced accuracy: "
            f"{tested.balanced_accuracy:.1%}. None of these: "
            f"{sum(tested.rejected.values()):,}.</p>"
        )
    if tested.learned:
        yield (
            f"<p>The model has learned {tested.learned:,} of the photos; on new photos it will do "
            "less well.</p>"
        )
    for label, n in tested.unknown.items():
        none = tested.unknown_rejected.get(label, 0)
        yield (
            f"<p>{text(label)} is not a class of the model: {none:,} of "
            f"{many(n, 'photo')} were answered ‘none of these’.</p>"
        )
    if tested.unreadable:
        yield f"<p>{many(len(tested.unreadable), 'photo')} could not be read.</p>"


def _classes(tested: Tested) -> Iterable[str]:
    if not tested.n:
        return
    yield '<h2>Classes</h2>\n<div class="scroll"><table>'
    yield (
        "<thead><tr><th>class</th><th>photos</th><th>right</th><th>none of these</th>"
        "<th>taken for</th></tr></thead>\n<tbody>"
    )
    confused: dict[str, list[str]] = {}
    for label, other, times in tested.confused:
        confused.setdefault(label, []).append(f"{text(other)} {times:,}")
    for label, n in tested.tested.items():
        others = ", ".join(confused.get(label, []))
        right, rejected = tested.right.get(label, 0), tested.rejected.get(label, 0)
        numbers = (f"{n:,}", f"{right / n:.1%}", f"{rejected:,}")
        cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
        yield f'<tr><th scope="row">{text(label)}</th>{cells}<td>{others}</td></tr>'
    yield "</tbody></table></div>"


def _mistakes(shown: Sequence[Mistake], n: int) -> Iterable[str]:
    if not n:
        return
    yield "<h2>Photos that were confused</h2>"
    more = f" The {len(shown):,} most confident of {n:,} are shown." if len(shown) < n else ""
    yield f'<p class="muted">The most confident come first.{more}</p>'
    yield '<ul class="photos">'
    for one, pixels in zip(shown, read([one.path for one in shown], SIDE), strict=True):
        image = "" if isinstance(pixels, str) else f'<img alt="" src="{_encoded(pixels)}">'
        yield (
            f"<li>{image}<strong>{text(one.label)}</strong> taken for "
            f"<strong>{text(one.taken_for)}</strong>, {one.probability:.0%}<br>"
            f'<span class="muted">{text(one.path)}</span></li>'
        )
    yield "</ul>"


def _encoded(pixels: np.ndarray) -> str:
    """Return a small photo as an address that holds all of it."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0))).save(file, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"
