"""The difference to clsnet, in every table that shows it."""

import shutil
from pathlib import Path

import pytest

from clsnet.evaluation.summaries import Summary, summarise
from clsnet.reporting.differences import differences, reference_of
from clsnet.reporting.folder import read_folder
from clsnet.reporting.markdown import markdown_table, write_tables
from clsnet.reporting.page import write_report
from tests.reporting.runs import SEQUENCE, Page, add, write


def summaries(folder: Path) -> list[Summary]:
    return summarise(read_folder(folder).runs)


def table(folder: Path) -> list[dict[str, str]]:
    lines = markdown_table(SEQUENCE, summaries(folder)).splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def test_seeds_are_put_together_and_only_what_is_significant_is_marked(three_seeds: Path) -> None:
    rows = {row["method"]: row for row in table(three_seeds)}
    assert list(rows) == [f"{name}, fast" for name in ("slda", "ranpac", "clsnet", "acil", "ncm")]
    cells = {name: row["difference to clsnet"] for name, row in rows.items()}
    assert cells["clsnet, fast"] == "–"
    assert cells["slda, fast"] == "+0.0200 ± 0.0087, ahead (in 3 of 3 seeds)"
    assert cells["ncm, fast"].endswith(", behind (in 3 of 3 seeds)")
    assert cells["ranpac, fast"].startswith("+0.0010 ± 0.0")
    assert "ahead" not in cells["ranpac, fast"]
    assert rows["slda, fast"]["seeds × orders"] == "3 × any"
    assert rows["acil, fast"]["seeds × orders"] == "3 × 2"


def test_the_page_says_the_same(three_seeds: Path, tmp_path: Path) -> None:
    write_report(three_seeds, tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    assert page.texts("th", scope="colgroup")[2] == "Difference to clsnet"
    cell = page.rows()["slda, fast 3 seeds, any order"][2]
    assert float(cell["data-value"] or "nan") == pytest.approx(0.02)
    verdicts = page.texts("small", class_="verdict")
    assert verdicts == ["ahead (in 3 of 3 seeds)", *["behind (in 3 of 3 seeds)"] * 2]
    assert "acil, fast 3 seeds, 2 orders each" in page.rows()
    (lead,) = page.texts("p", class_="lead")
    assert "slda, fast: 0.8" in lead
    assert "Not significantly behind: ranpac, fast." in lead
    assert page.texts("p", class_="note")[1].startswith("Difference to clsnet: accuracy after")


def test_each_seeds_command_names_its_own_network(three_seeds: Path, tmp_path: Path) -> None:
    write_report(three_seeds, tmp_path / "report.html")
    items = Page((tmp_path / "report.html").read_text()).texts("li")
    for seed in range(3):
        words = f"--orders 1 --seed {seed} --backbone networks/{seed}/resnet18.safetensors"
        assert sum(words in item for item in items) == 4


def test_runs_without_answers_have_no_such_column(tmp_path: Path) -> None:
    for method, accuracy in (("clsnet", 0.8), ("slda", 0.9)):
        write(tmp_path, method, accuracy, sequence=SEQUENCE)
    assert "difference" not in markdown_table(SEQUENCE, summaries(tmp_path))
    write_report(tmp_path, tmp_path / "report.html")
    assert "Difference" not in (tmp_path / "report.html").read_text()


def test_a_method_is_compared_with_clsnet_on_the_same_features(tmp_path: Path) -> None:
    for preset, accuracy in (("fast", 0.8), ("best", 0.9)):
        add(tmp_path, "clsnet", accuracy, config={"preset": preset})
        add(tmp_path, "slda", accuracy - 0.05, config={"preset": preset})
    add(tmp_path, "ewc", 0.3, config={"preset": None})
    add(tmp_path, "clsnet", 0.81, config={"views": 8})
    add(tmp_path, "ncm", 0.3, config={"preset": "small"})
    found = summaries(tmp_path)
    titles = {summary.title: summary for summary in found}

    def reference(title: str) -> str | None:
        one = reference_of(titles[title], found)
        return one and one.title

    assert reference("slda, fast") == "clsnet, fast"
    assert reference("slda, best") == "clsnet, best"
    assert reference("ewc") == reference("clsnet, fast, views=8") == "clsnet, fast"
    assert reference("ncm, small") is None


def test_what_leaks_is_compared_with_nothing(tmp_path: Path) -> None:
    add(tmp_path, "clsnet", 0.8)
    add(tmp_path, "clsnet-demo", 0.95, protocol="demo", config={"preset": None})
    assert differences(summaries(tmp_path)) == [None, None]


def test_another_network_of_the_same_seed_is_not_compared(tmp_path: Path) -> None:
    for network, method in (("a", "clsnet"), ("b", "clsnet"), ("b", "slda")):
        config = {"backbone": f"{network}.safetensors"}
        add(tmp_path, method, 0.8, config=config, network=network)
    found = summaries(tmp_path)
    compared = differences(found)
    assert [summary.title for summary in found] == [
        "clsnet, fast, a.safetensors",
        "clsnet, fast, b.safetensors",
        "slda, fast, b.safetensors",
    ]
    assert compared[0] is None
    assert compared[2] is not None


def test_the_bound_of_one_task_is_compared_with_the_sequence_of_many(tmp_path: Path) -> None:
    add(tmp_path, "clsnet", 0.8)
    add(tmp_path, "joint-finetuned", 0.85, sequence="Digits-10/1", config={"preset": None})
    row = table(tmp_path)[0]
    assert row["method"] == "joint-finetuned (Digits-10/1)"
    assert row["difference to clsnet"].startswith("+0.0500 ± ")
    assert row["difference to clsnet"].endswith(", ahead")


def test_the_network_has_a_column_where_there_is_one(tmp_path: Path) -> None:
    sizes = {"model_mb": 6.0, "exemplar_mb": 1.5}
    add(tmp_path, "clsnet", 0.8, memory={**sizes, "backbone_mb": 43.425})
    add(tmp_path, "ncm", 0.7, memory={**sizes, "backbone_mb": 0.0})
    assert [row["network MB"] for row in table(tmp_path)] == ["43.42", "–"]
    write_report(tmp_path, tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    heads = page.texts("th", scope="colgroup")
    assert heads[-4:] == ["Model (MB)", "Exemplars (MB)", "Network (MB)", "Learning (s)"]
    cells = page.rows()["clsnet, fast any order"]
    assert float(cells[heads.index("Network (MB)")]["data-value"] or "nan") == 43.425
    assert "clsnet, fast: 50.92 MB" in (tmp_path / "report.html").read_text()


def test_tuning_is_explained_and_a_choice_on_an_edge_is_named(tmp_path: Path) -> None:
    add(tmp_path, "clsnet", 0.8)
    assert "Tuned:" not in markdown_table(SEQUENCE, summaries(tmp_path))
    tuned = {"config": {"tune": True, "strength": 1e13}, "chosen": ["strength"]}
    add(tmp_path, "ewc", 0.3, **tuned, tuning={"tried": 12, "on_edge": ["strength"]})
    text = markdown_table(SEQUENCE, summaries(tmp_path))
    assert (
        "Tuned: options chosen on held-out training data of all tasks, before the first task is "
        "learned; on the edge of all that was tried: ewc (strength)."
    ) in text
    write_report(tmp_path, tmp_path / "report.html")
    assert "before the first task is learned" in (tmp_path / "report.html").read_text()


def test_tables_alone_are_written_to_a_markdown_file(three_seeds: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    shutil.copytree(three_seeds, folder)
    add(folder, "a|b", 0.4)
    (folder / "9.json").write_text("{")
    output = tmp_path / "new" / "tables.md"
    assert write_tables(folder, output) == [f"{folder / '9.json'} is not a finished run"]
    text = output.read_text()
    assert text.startswith(f"## {SEQUENCE}\n\n| method | form | Avg Acc | difference to clsnet |")
    assert "| a\\|b, fast | " in text
