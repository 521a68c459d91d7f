from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clsnet.extractor import Patches
from clsnet.photos import forget, learn
from tests.browser import CHROMIUM, DRIVER, Browser
from tests.page.browser.serving import Person, Served

WEBCAM = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
KNOWN, OTHER = ("square-r", "square-g", "stripes-b"), ("stripes-y", "square-g")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave these tests out where there is no browser."""
    here = Path(__file__).parent
    skip = pytest.mark.skip(reason="needs a browser: apt-get install chromium chromium-driver")
    for item in items:
        if here in item.path.parents and not (CHROMIUM and DRIVER):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def taught(shapes_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models: three classes, two other ones, and none any more."""
    folder = tmp_path_factory.mktemp("taught")
    for name, labels in (("pets", KNOWN), ("other", OTHER)):
        for label in labels:
            shutil.copytree(shapes_folder / label, folder / name / label)
        learn(folder / f"{name}.clsnet", folder / name, backbone=Patches(filters=4, pool=2))
    shutil.copy(folder / "pets.clsnet", folder / "empty.clsnet")
    forget(folder / "empty.clsnet", list(KNOWN))
    (folder / "empty.clsnet.undo").unlink(missing_ok=True)
    return folder


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"), *WEBCAM)
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def served(
    environment: dict[str, str], browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A server that has let the browser in."""
    for module in ("starlette", "uvicorn", "jinja2", "python_multipart", "typer"):
        pytest.importorskip(module)
    served = Served(tmp_path_factory.mktemp("served") / "pets.clsnet", environment)
    browser.open(served.link, 1280)
    yield served
    served.kill()


@pytest.fixture
def start(browser: Browser, served: Served, taught: Path) -> Iterator[Callable[..., Person]]:
    """Puts a model before the server and opens the page; the console has to stay silent."""
    model = Path(served.process.args[4])  # type: ignore[index]

    def put(name: str = "pets", **how: object) -> Person:
        browser.open("about:blank", 1280)  # a page that is open would look at the model meanwhile
        for old in model.parent.iterdir():
            old.unlink()
        shutil.copy(taught / f"{name}.clsnet", model)
        person = Person(browser, model)
        person.opens(served.address, **how)  # type: ignore[arg-type]
        return person

    browser.console()
    yield put
    assert browser.console() == []


@pytest.fixture
def person(start: Callable[..., Person]) -> Person:
    """Somebody in front of a page that knows three classes of ten photos each."""
    return start()
