"""Templates, a strict content policy and atomic writing for all pages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clsnet.errors import ClsnetError
from clsnet.evaluation.store import check_writable
from clsnet.extras import needed
from clsnet.reporting.commands import commands
from clsnet.reporting.picture import Picture
from clsnet.reporting.series import leaking, orders
from clsnet.reporting.tables import number


def files_of(output: Path) -> Path:
    """Return the folder beside a page that holds its figures as files."""
    return output.parent / f"{output.stem}_files"


def check_page(output: Path) -> None:
    """Say why a page cannot be written, if so."""
    if output.is_dir():
        raise ClsnetError(f"{output} is a folder; name a file, such as {output / 'report.html'}.")
    check_writable(files_of(output))
    if output.exists():
        try:
            output.open("r+b").close()
        except OSError as error:
            raise ClsnetError(f"cannot write {output}: {error.strerror}.") from None


def render_page(template: str, **values: Any) -> str:
    """Fill a template with values, each of which is escaped."""
    found = templates()
    css, js = (found.loader.get_source(found, f"report.{kind}")[0] for kind in ("css", "js"))
    policy = (
        f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(js)}; "
        "base-uri 'none'; form-action 'none'"
    )
    text: str = found.get_template(template).render(policy=policy, css=css, js=js, **values)
    return text


def write_page(output: Path, text: str, pictures: Sequence[Picture]) -> None:
    """Write a page, and its figures beside it."""
    beside = files_of(output)
    try:
        for picture in pictures:
            (beside / f"{picture.name}.svg").write_bytes(picture.svg)
            (beside / f"{picture.name}.png").write_bytes(picture.png)
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ClsnetError(f"cannot write {error.filename}: {error.strerror}.") from None


def templates() -> Any:
    """Return the templates; all values in them are escaped."""
    jinja2 = needed("jinja2", "the report", "report")
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("clsnet.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.globals.update(commands=commands, number=number, orders=orders)
    found.tests["leaking"] = leaking
    return found


def readable(text: str) -> str:
    """Replace what UTF-8 cannot write, such as odd bytes of a path."""
    return text.encode(errors="replace").decode()


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy lets pass: this text and nothing else."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
