import json
import shutil
from pathlib import Path

import pytest

from clsnet.errors import ClsnetError
from clsnet.evaluation.store import read_runs
from clsnet.experiments.published import paper_row
from clsnet.reporting.readme import EXPERIMENTS, filled

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))], ids=str)
def test_a_page_shows_what_the_result_files_hold(page):
    text = page.read_text()
    assert filled(text, ROOT / "results") == text


def test_every_run_keeps_within_the_bound_that_the_definitions_of_the_metrics_set():
    """README says so, and that three published rows do not."""
    runs = [run for run in read_runs(ROOT / "results") if None not in (run["bwt"], run["fwt"])]
    assert len(runs) > 200
    for run in runs:
        n_tasks = len(run["R"])
        bound = 1 + (n_tasks - 1) / n_tasks * (run["bwt"] + run["fwt"])
        assert run["avg_acc"] <= bound + 1e-9, (run["sequence"], run["method"])
    for name, most in (("EWC", 0.3431), ("DMC", 0.5074), ("RM", 0.8096)):
        row = paper_row("FashionMNIST-10/5", name)
        assert row.avg_acc > 1 + 4 / 5 * (row.bwt + row.fwt) == pytest.approx(most, abs=1e-4)


def test_a_table_without_runs_is_an_error(tmp_path):
    with pytest.raises(ClsnetError, match="holds no run of Digits-10/5"):
        filled("<!-- table:Digits-10/5 -->\n<!-- end -->", tmp_path)


def test_a_value_is_a_number_or_a_table(tmp_path):
    figures = {"ratio": 0.5, "rows": {"one view": 0.61234, "two": 0.5}, "big_one": 1234.2}
    (tmp_path / "a.json").write_text(json.dumps(figures))
    number = filled("<!-- value:a.json:ratio -->\n<!-- end -->", tmp_path)
    assert number == "<!-- value:a.json:ratio -->\n0.500\n<!-- end -->"
    table = filled("<!-- value:a.json:rows -->\nold\n<!-- end -->", tmp_path)
    assert table.splitlines()[1:-1] == [
        "| | |",
        "|---|--:|",
        "| one view | 0.6123 |",
        "| two | 0.5 |",
    ]
    table = filled("<!-- value:a.json:ratio,big_one -->\n<!-- end -->", tmp_path)
    assert table.splitlines()[3:-1] == ["| ratio | 0.5 |", "| big one | 1234 |"]


def test_a_table_of_several_figures_a_row_has_a_head(tmp_path):
    figures = {"runs": {"short": {"s": 71.7, "Avg Acc": 0.65}, "long": {"s": 233, "Avg Acc": 0.67}}}
    (tmp_path / "a.json").write_text(json.dumps(figures))
    table = filled("<!-- value:a.json:runs -->\n<!-- end -->", tmp_path)
    assert table.splitlines()[1:-1] == [
        "| | s | Avg Acc |",
        "|---|--:|--:|",
        "| short | 71.7 | 0.65 |",
        "| long | 233 | 0.67 |",
    ]


def test_some_rows_of_a_table_are_picked_by_name(tmp_path):
    place = Path("TinyImageNet-100/10")
    for method in ("ncm", "slda"):
        shutil.copytree(ROOT / "results/tiny/peers" / place / method, tmp_path / place / method)
    text = "<!-- rows:TinyImageNet-100/10: slda, fast; {} -->\n<!-- end -->"
    rows = filled(text.format("ncm, fast"), tmp_path).splitlines()[3:-1]
    assert [row.split(" | ")[0] for row in rows] == ["| slda, fast", "| ncm, fast"]
    with pytest.raises(ClsnetError, match="has no row 'ranpac, fast'"):
        filled(text.format("ranpac, fast"), tmp_path)


def test_a_table_is_of_one_folder_if_that_is_named(tmp_path):
    for folder, method in (("a", "ncm"), ("b", "slda"), (EXPERIMENTS, "ranpac")):
        place = Path("TinyImageNet-100/10", method)
        shutil.copytree(ROOT / "results/tiny/peers" / place, tmp_path / folder / place)
    text = "<!-- table:{}TinyImageNet-100/10 -->\n<!-- end -->"
    pages = [filled(text.format(where), tmp_path) for where in ("", "a/ ", f"{EXPERIMENTS}/ ")]
    rows = [[row for row in page.splitlines() if row.startswith("| ")] for page in pages]
    names = [[row.split(",")[0] for row in page[1:]] for page in rows]
    assert names == [["| slda", "| ncm"], ["| ncm"], ["| ranpac"]]
