import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from clsnet.cli.report import report as command
from clsnet.errors import ClsnetError
from tests.reporting.runs import write

app = typer.Typer()
app.command()(command)


def test_the_page_is_written_and_a_broken_file_is_named(tmp_path: Path) -> None:
    write(tmp_path, "clsnet", 0.9, sequence="Digits-10/1")
    broken = tmp_path / "Digits-10/1/clsnet/1.json"
    broken.write_text("{")
    page = tmp_path / "new" / "page.html"
    result = CliRunner().invoke(app, [str(tmp_path), "-o", str(page)])
    assert result.exit_code == 0
    assert f"Report: {page}" in result.stdout
    assert f"{broken} is not a finished run; left out." in result.stderr
    assert page.is_file()
    assert (tmp_path / "new" / "page_files" / "digits-10-1-accuracy.svg").is_file()


def test_tables_need_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "clsnet", 0.9, sequence="Digits-10/1")
    for name in [*sys.modules]:
        if name.startswith(("matplotlib", "clsnet.reporting")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = CliRunner().invoke(app, [str(tmp_path), "-o", str(tmp_path / "tables.md")])
    assert result.exit_code == 0
    assert "| clsnet | 1." in (tmp_path / "tables.md").read_text()


def test_a_folder_without_runs_is_one_line(tmp_path: Path) -> None:
    error = CliRunner().invoke(app, [str(tmp_path)]).exception
    assert isinstance(error, ClsnetError)
    assert "\n" not in str(error)


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*sys.modules]:
        if name.startswith(("matplotlib", "clsnet.reporting")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = CliRunner().invoke(app, [str(tmp_path)]).exception
    assert isinstance(error, ClsnetError)
    assert "pip install 'clsnet[report]'" in str(error)


def test_without_jinja_the_extra_is_named_and_no_page_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "clsnet", 0.9, sequence="Digits-10/1")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    page = tmp_path / "page.html"
    error = CliRunner().invoke(app, [str(tmp_path), "-o", str(page)]).exception
    assert isinstance(error, ClsnetError)
    assert str(error) == "the report needs jinja2: pip install 'clsnet[report]'"
    assert not page.exists()
