"""The README and the site: what they show runs, and the site is whole."""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from clsnet.cli.app import app
from clsnet.photos import export, learn

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
sys.path.append(str(ROOT / "tools"))

from console import HOME, played  # noqa: E402
from diagrams import PICTURES  # noqa: E402
from draw_photos import draw_photos  # noqa: E402


def blocks(page: Path, *languages: str) -> list[str]:
    """Return the code blocks of a page in some languages; those without one are ''."""
    found = re.findall(
        r"^```([\w-]*)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return [text for language, text in found if language in languages]


def pages_with(*languages: str) -> list[str]:
    return [name for name in NAMES if blocks(ROOT / name, *languages)]


@pytest.fixture(scope="session")
def drawn(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("drawn")
    draw_photos(folder)
    return folder


@pytest.fixture
def place(drawn, tmp_path, monkeypatch) -> Path:
    """The folder in which a page is played, with drawn photos."""
    for name in ("photos", "inbox"):
        shutil.copytree(drawn / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def january(drawn) -> Path:
    """A model of the photos in january."""
    learn(drawn / "january.clsnet", drawn / "photos/january")
    return drawn / "january.clsnet"


@pytest.mark.parametrize("name", pages_with("python", "py"))
def test_the_python_of_a_page_runs(name, place, january):
    """Block after block, as a reader would type them."""
    if name == "docs/scale.md":
        pytest.skip("its program needs a network and tasks that the page does not make")
    names = {"__name__": "page"}
    shutil.copy(january, "pets.clsnet")
    shutil.copy("inbox/img1.jpg", "photo.jpg")
    if name == "docs/export.md":
        export("pets.clsnet", "pets.onnx")
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(ROOT / name, "python", "py"):
            exec(compile(block, name, "exec"), names)


def without_figures(text: str) -> str:
    """Return a text without what depends on the processor and the day."""
    lines = [re.sub(r"\d[\d.,:T+-]*", "0", line).rstrip() for line in text.splitlines()]
    return re.sub(r" +", " ", "\n".join(lines))


@pytest.mark.parametrize("name", [name for name in pages_with("console") if "docs" in name])
def test_a_terminal_shows_what_commands_print(name, place, run_warm):
    def run(words: list[str]) -> str:
        assert words[0] == "clsnet", words
        done = run_warm(*words[1:], cwd=place)
        assert done.status == 0, (words, done.err)
        return (done.err + done.out).replace(str(place), HOME)

    text = (ROOT / name).read_text("utf-8")
    assert without_figures(played(text, run)) == without_figures(text)


def test_the_readme_shows_the_terminal_of_the_tutorial():
    tutorial = (ROOT / "docs/tutorials/photos.md").read_text("utf-8")
    (block,) = blocks(ROOT / "README.md", "console")
    for part in block.split("$ ")[1:]:
        assert without_figures(part) in without_figures(tutorial)


def test_the_other_commands_of_the_readme_run(place, january, run_warm):
    shutil.copy(january, "fruit.clsnet")
    (block,) = blocks(ROOT / "README.md", "sh")
    for line in block.splitlines():
        done = run_warm(*shlex.split(line, comments=True)[1:], cwd=place)
        assert done.status == 0, (line, done.err)


def shown_commands() -> list[str]:
    """Return every line of a page that begins with clsnet, with its continuations."""
    found = []
    for page in PAGES:
        for block in blocks(page, "", "text", "sh", "console"):
            text = block.replace("\\\n", " ").replace("torchrun --nproc-per-node 2 -m ", "")
            lines = [line.strip().removeprefix("$ ") for line in text.splitlines()]
            found += [line for line in lines if re.match(r"clsnet [a-z]+( |$)", line)]
    return sorted(set(found))


@pytest.mark.parametrize("line", shown_commands())
def test_a_command_that_a_page_shows_exists(line):
    """Also where running it would take hours, its options are those of the command."""
    _, name, *words = shlex.split(line, comments=True)
    if "$options" in words:  # a variable of a shell
        words.remove("$options")
    numbered = ["0" if word == "$seed" else word for word in words]
    typer.main.get_command(app).commands[name].make_context(name, numbered)


def test_the_readme_is_short_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 150
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (ROOT / target).exists(), target


def test_a_new_user_needs_three_commands():
    console, *_ = blocks(ROOT / "README.md", "console")
    commands = [line.split()[1:3] for line in console.splitlines() if line.startswith("$ ")]
    assert commands == [["pip", "install"], ["clsnet", "learn"], ["clsnet", "predict"]]


@pytest.mark.parametrize("name", PICTURES)
def test_a_diagram_is_what_its_tool_draws(name):
    path = ROOT / "docs/pictures" / f"{name}.svg"
    assert path.read_text("utf-8") == PICTURES[name]()


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    if not find_spec("mkdocstrings"):
        pytest.skip("mkdocstrings is not here: pip install 'clsnet[docs]'")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(site):
    pages = list(site.glob("**/*.html"))
    assert len(pages) > 40
    loading = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=["']?(https?:)?//""")
    for page in pages:
        text = page.read_text("utf-8")
        elsewhere = [m[0] for m in loading.finditer(text) if 'rel="canonical"' not in m[0]]
        assert not elsewhere, (page.name, elsewhere)
    for style in site.glob("**/*.css"):
        assert not re.search(r"url\(['\"]?https?:", style.read_text("utf-8")), style
