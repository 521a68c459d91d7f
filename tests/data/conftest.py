from pathlib import Path

import pytest
from tests.pictures import encoded, picture, put

__all__ = ["cache", "encoded", "picture", "put"]


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """The folder of fetched files, empty."""
    monkeypatch.setenv("CLSNET_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"
