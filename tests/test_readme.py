import re
from pathlib import Path

import pytest

from clsnet.errors import ClsnetError
from clsnet.reporting.readme import filled

ROOT = Path(__file__).parents[1]


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def test_the_readme_shows_what_the_result_files_hold():
    text = (ROOT / "README.md").read_text()
    assert filled(text, ROOT / "results") == text


def test_every_python_example_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks("README.md")
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_the_method_of_the_contributing_guide_runs_in_the_protocol():
    from clsnet.data import load_sequence
    from clsnet.evaluation.protocol import evaluate

    (example,) = python_blocks("CONTRIBUTING.md")
    names: dict[str, object] = {}
    exec(compile(example, "CONTRIBUTING.md", "exec"), names)
    sequence = load_sequence("Digits-10/5")
    tasks = sequence.tasks(sequence.order(0, 0))
    outcome = evaluate(lambda: names["NCM"].build(0), tasks)
    assert outcome.metrics()["avg_acc"] > 0.85


def test_a_table_without_runs_is_an_error(tmp_path):
    with pytest.raises(ClsnetError, match="holds no run of Digits-10/5"):
        filled("<!-- table:Digits-10/5 -->\n<!-- end -->", tmp_path)
