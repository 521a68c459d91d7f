"""The recipes of docs/scale.md, as they stand."""

import re
from pathlib import Path

import pytest

SCALE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_recipes_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("dask.bag")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", SCALE.read_text(), re.DOTALL)
    assert len(blocks) >= 6
    names = {"__name__": "recipe"}
    for block in blocks:
        exec(compile(block, str(SCALE), "exec"), names)
    assert "epsilon=8.0" in capsys.readouterr().out
    assert {"here.sums", "all.sums", "stream.clsnet", "model.0-of-1.clsnet"} <= {
        path.name for path in tmp_path.iterdir()
    }
