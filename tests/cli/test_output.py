"""Whatever files and folders are called, and whatever a file holds, only text is printed."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from PIL import Image

from clsnet.cli.console import PlainConsole
from clsnet.cli.output import RUN_BY_SPREADSHEETS, PlainStream, cell, plain

# Colours, a bell, a title, a cleared screen, C1 codes, a reversed line, markup, formulas.
HOSTILE = (
    "=cmd()\x1b[2J\x1b]0;x\x07",
    "[bold red]@x[nothing]\x9b31m",
    "+a\rb\tc\x7f\u202ed",
    "-1\n-2\b\x00".replace("\x00", ""),
)


def controls(text: str) -> list[str]:
    """Return every character that a terminal would obey, but line ends."""
    return re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


@pytest.fixture
def hostile(shapes_folder, tmp_path):
    """A folder whose classes, photos and self have hostile names."""
    folder = tmp_path / HOSTILE[0]
    shapes = sorted(shapes_folder.iterdir())
    for name, source in zip(HOSTILE, shapes, strict=False):
        shutil.copytree(source, folder / name)
        (folder / name / "0.png").rename(folder / name / f"{name}.png")
        (folder / name / f"{name}broken.png").write_bytes(b"no image")
    (folder / HOSTILE[1] / "pipe\x1b[1m.png").symlink_to(folder / HOSTILE[2])
    return folder


def test_hostile_names_are_printed_as_text_by_every_command(run_warm, hostile, write_network):
    model = hostile / "\x1b[31m=m.clsnet"
    weights = write_network(hostile / "\x1b[32mw.safetensors")
    photos = [*sorted(hostile.rglob("*.png"))[:3], hostile / HOSTILE[1]]
    commands = [
        ("learn", model, hostile, "--dry-run"),
        ("learn", model, hostile, "--backbone", weights, "--self-contained"),
        ("learn", model, hostile),
        ("learn", model, hostile, "--backbone", "\x1b[31m"),
        ("learn", model, hostile / "gone\x1b"),
        ("predict", model, *photos),
        ("predict", model, *photos, "--csv", "--top", 3),
        ("predict", model, *photos, "--json"),
        ("predict", model, *photos, "--reject", 0.99),
        ("predict", model, hostile / "gone\x1b"),
        ("predict", hostile / HOSTILE[0] / f"{HOSTILE[0]}.png", *photos),
        ("info", model),
        ("export", model, hostile / "\x1b.onnx"),
        ("forget", model, HOSTILE[0]),
        ("forget", model, HOSTILE[0]),
        ("undo", model),
        ("undo", hostile / "gone\x1b"),
        ("info", hostile / "gone\x1b"),
        ("bench", f"folder:{hostile}/2", "--out", hostile.parent / "runs\x1b"),
        ("bench", "\x1b[31m-10/5"),
        ("bench", "Digits-10/5", "--method", "\x1b[31m"),
        ("bench", "Digits-10/5", "--option", "\x1b[31m"),
        ("report", hostile.parent / "runs\x1b", "-o", hostile / "report\x1b.html"),
        ("report", hostile / "gone\x1b"),
        ("pretrain", f"folder:{hostile}", "--out", hostile / "w\x1b.pth"),
        ("\x1b[31m",),
        ("info", model, "\x1b[31m"),
    ]
    done = [run_warm(*command) for command in commands]
    for command, end in zip(commands, done, strict=True):
        assert controls(end.out + end.err) == [], command
        assert "Traceback" not in end.err, (command, end.err)
    assert [end.status for end in done[:3]] == [0, 0, 0]
    assert "[bold red]@x[nothing]" in done[1].out
    failed = [(commands[i], done[i].err) for i in (11, 12, 13, 15, 18, 22) if done[i].status]
    assert failed == []


def test_no_cell_of_a_csv_file_is_a_formula_and_json_is_exact(
    run_warm, run_clsnet, hostile, write_network, monkeypatch
):
    model, weights = hostile / "m.clsnet", write_network(hostile / "w.safetensors")
    learn = ("learn", model, hostile)
    assert run_warm(*learn, "--backbone", weights, "--self-contained").status == 0
    monkeypatch.chdir(hostile)
    names = [f"{name}/{name}.png" for name in HOSTILE]
    printed = run_clsnet("predict", "--csv", "--top", 4, "--", model, *names).out
    rows = list(csv.reader(io.StringIO(printed)))
    assert len(rows) == 5
    assert not [part for row in rows for part in row if part.startswith(RUN_BY_SPREADSHEETS)]
    exact = json.loads(run_clsnet("predict", "--json", "--reject", 0, "--", model, *names).out)
    assert [row["file"] for row in exact] == names
    assert {row["class"] for row in exact} <= set(HOSTILE)


def test_what_a_spreadsheet_would_run_is_quoted():
    for start in RUN_BY_SPREADSHEETS:
        assert cell(f"{start}1").startswith("'")
    assert cell("\n=1") == "�=1"
    assert cell("a=1") == "a=1"
    assert cell(-1.0) == "'-1.0"


def test_bytes_that_are_no_text_are_printed_as_a_sign():
    assert plain(os.fsdecode(b"cat\xff")) == "cat�"


def test_a_stream_writes_what_its_encoding_has():
    raw = io.BytesIO()
    stream = PlainStream(io.TextIOWrapper(raw, encoding="ascii", newline=""))
    print("café \x1b[31m", file=stream)
    stream.writelines(["a\r", "b\n"])
    stream.flush()
    assert raw.getvalue() == b"caf\\xe9 \\ufffd[31m\na\\ufffdb\n"


def test_what_an_encoding_does_not_have_ends_no_command(tmp_path, environment):
    folder = tmp_path / "日本"
    folder.mkdir()
    for name in ("日", "犬"):
        (folder / name).mkdir()
        for i in range(5):
            Image.new("L", (40, 40 + i), 50 * i).save(folder / name / f"{i}.png")
    command = [sys.executable, "-m", "clsnet"]
    for words in (
        ("learn", "m.clsnet", folder.name),
        ("predict", "m.clsnet", folder.name),
        ("predict", "m.clsnet", folder.name, "--csv"),
        ("info", "m.clsnet"),
    ):
        done = subprocess.run(
            [*command, *words],
            env={**environment, "PYTHONIOENCODING": "cp1252"},
            cwd=tmp_path,
            capture_output=True,
        )
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
        assert "犬".encode("ascii", "backslashreplace") in done.stdout


def test_a_terminal_of_no_columns_still_gets_a_table(monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    assert PlainConsole().width == 80


def test_a_console_keeps_its_own_colours_and_no_other(monkeypatch):
    monkeypatch.setattr(sys, "stdout", PlainStream(io.StringIO()))
    sys.stdout.stream.encoding  # noqa: B018  (an in-memory stream has none)
    console = PlainConsole()
    console._force_terminal = True
    console.tell("[red]a\x1b[2J\nb[/red]", style="bold")
    console.print("x\x1by")
    printed = sys.stdout.stream.getvalue()
    assert "[red]a�[2J�b[/red]" in printed
    assert "x�y" in printed


WARNING = """
import sys, warnings
from clsnet.cli import main
sys.argv = ["clsnet", "methods"]
try:
    main()
except SystemExit:
    pass
warnings.warn("one\\x1b[31m line\\n", stacklevel=1)
sys.stderr.write("\\x1b]0;title\\x07")
raise RuntimeError("\\x1b[2J")
"""


def test_warnings_and_tracebacks_of_a_command_are_plain_too(environment):
    done = subprocess.run(
        [sys.executable, "-c", WARNING], env=environment, capture_output=True, text=True
    )
    assert controls(done.stderr) == []
    assert "clsnet: one�[31m line�\n" in done.stderr
    assert "RuntimeError: �[2J" in done.stderr


def test_a_photo_named_like_markup_is_learned(run_warm, tmp_path):
    for name in ("[red]", "[link=x]"):
        (tmp_path / "p" / name).mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "p" / name / "[link=x]a.png")
    done = run_warm("learn", tmp_path / "m", tmp_path / "p", "--dry-run")
    assert (done.status, "  [red]: 1 photo (new)" in done.out) == (0, True)
