from pathlib import Path

import pytest

from clsnet.reporting.page import write_report
from tests.reporting.runs import HOSTILE, Page, write


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sequences; a method that leaks, one with a hostile name, one over three orders."""
    folder = tmp_path_factory.mktemp("runs")
    for order in range(3):
        write(folder / "ours", "clsnet", 0.92, order, config={"preset": "fast", "tune": False})
    write(folder / "leaking", "clsnet-demo", 0.93, protocol="demo")
    write(folder / "other", HOSTILE, 0.4, environment={"gpu": HOSTILE, "threads": "1"})
    write(
        folder / "other", "clsnet-paper", 0.6, config={"preset": None, "tune": True, "gamma": 1.0}
    )
    write(folder / "other", "clsnet", 0.9, sequence="Digits-10/1")
    return folder


@pytest.fixture(scope="session")
def report(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the page lies."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert write_report(folder, path) == []
    return path


@pytest.fixture(scope="session")
def page(report: Path) -> Page:
    return Page(report.read_text(encoding="utf-8"))
