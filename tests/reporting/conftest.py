from collections.abc import Iterator
from pathlib import Path

import pytest

from clsnet.reporting.page import write_report
from tests.browser import Browser
from tests.reporting.runs import HOSTILE, Page, add, answered, write


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


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


@pytest.fixture(scope="session")
def three_seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three methods without orders, one with two; each seed has a network of its own."""
    folder = tmp_path_factory.mktemp("seeds")
    sizes = {"model_mb": 180.0, "exemplar_mb": 0.0, "backbone_mb": 43.425}
    for seed in range(3):
        backbone = {"backbone": f"networks/{seed}/resnet18.safetensors"}
        more = {"network": f"digest {seed}", "config": backbone, "memory": sizes}
        add(folder, "clsnet", 0.80, seed, **more)
        add(folder, "slda", 0.82, seed, **more)
        add(folder, "ncm", 0.5, seed, **more)
        near = answered(0.801, 100)
        add(folder, "ranpac", 0.801, seed, answers=near, **more)
        for order in range(2):
            add(folder, "acil", 0.7, seed, order, order_free=False, **more)
    return folder
