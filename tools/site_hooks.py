"""What `mkdocs build` adds to the pages in docs/: see ``hooks`` in mkdocs.yml.

The changelog, the guide for contributors and the results lie outside docs/, where people look for
them in a repository. Here they become pages and files of the site, and links to them are bent.
The page of commands is made from their help, and the reproduction of the paper from results/.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
}
COMMANDS = "reference/commands.md"
REPRODUCTION = "reproduction.html"
LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in docs/, and the results that pages refer to."""
    from mkdocs.structure.files import File

    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, COMMANDS, content=commands()))
    with tempfile.TemporaryDirectory() as folder:
        made = reproduction(Path(folder))
        files.append(File.generated(config, REPRODUCTION, content=made.read_bytes()))
    pages = [file.content_string for file in files.documentation_pages()]
    for name in sorted(set(re.findall(r"\]\([./]*(results/[^)#\s]+)\)", "\n".join(pages)))):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links that lead out of docs/ lead to what `on_files` added."""
    path = page.file.src_uri
    home = next((source for source, there in PAGES.items() if there == path), f"docs/{path}")

    def bent(match: re.Match[str]) -> str:
        before, target, after = match.groups()
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(home), target))
        inside = PAGES.get(whole, whole.removeprefix("docs/"))
        return before + posixpath.relpath(inside, posixpath.dirname(path) or ".") + after

    return LINK.sub(bent, markdown)


def reproduction(folder: Path) -> Path:
    """Write the reproduction of the paper from the runs in the repository, and its figures."""
    page = folder / REPRODUCTION
    words = ["reproduce", "all", "--from", str(ROOT / "results"), "-o", str(page)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run(
        [sys.executable, "-m", "clsnet", *words],
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return page


def commands() -> str:
    """Return the help of every command as a page."""
    import click
    import typer

    from clsnet.cli.app import app

    group = typer.main.get_command(app)
    parts = [f"# Commands\n\n{group.help}\n\n`clsnet COMMAND --help` prints what is below.\n"]
    for name, command in group.commands.items():
        context = click.Context(command, info_name=f"clsnet {name}", max_content_width=88)
        parts.append(f"## clsnet {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)
