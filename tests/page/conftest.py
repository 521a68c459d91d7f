import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from clsnet.page.app import api_app, page_app
from clsnet.page.session import Bearer, Session
from clsnet.page.workbench import Workbench
from tests.page.running import painted, taught

PORT = 8123
HOSTS = {f"127.0.0.1:{PORT}", f"localhost:{PORT}"}
ORIGIN = f"http://127.0.0.1:{PORT}"


@pytest.fixture(scope="session")
def colours(tmp_path_factory) -> Path:
    """A folder with photos of three colours, and a model that learned them."""
    folder = tmp_path_factory.mktemp("colours")
    taught(folder)
    painted(folder / "more", n=4, seed=1)
    return folder


@pytest.fixture
def model(colours, tmp_path) -> Path:
    return Path(shutil.copy(colours / "m.clsnet", tmp_path / "m.clsnet"))


@pytest.fixture
def photos(colours) -> Callable[..., list[Path]]:
    """Photos of a colour: those that were learned, or others."""
    return lambda colour, kind="more": sorted((colours / kind / colour).iterdir())


@pytest.fixture
def open_page() -> Iterator[Callable[[Path], TestClient]]:
    """Opens the page of a model, as the browser that brought the token."""
    with ExitStack() as stack:

        def opened(model: Path) -> TestClient:
            session = Session(PORT)
            app = page_app(Workbench(model), session, HOSTS)
            client = stack.enter_context(TestClient(app, base_url=ORIGIN))
            client.headers["origin"] = ORIGIN
            assert client.get(f"/?token={session.token}", follow_redirects=False).status_code == 303
            return client

        yield opened


@pytest.fixture
def page(open_page, model) -> TestClient:
    return open_page(model)


@pytest.fixture
def open_api() -> Iterator[Callable[..., TestClient]]:
    """Opens the API of a model alone."""
    with ExitStack() as stack:

        def opened(model: Path, teach: bool = False, token: str | None = None) -> TestClient:
            app = api_app(Workbench(model, teach), Bearer(token), HOSTS)
            return stack.enter_context(TestClient(app, base_url=ORIGIN))

        yield opened


@pytest.fixture
def send() -> Callable[..., tuple[int, dict]]:
    """Sends photos to a verb, and returns the status and what is answered."""

    def posted(client, verb, photos=(), field="file", **fields):
        files = [(field, (path.name, path.read_bytes())) for path in photos]
        response = client.post(f"/api/v1/{verb}", data=fields, files=files or {"": None})
        return response.status_code, response.json()

    return posted
