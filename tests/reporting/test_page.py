import base64
import hashlib
import re
from pathlib import Path

import pytest

from clsnet.errors import ClsnetError
from clsnet.evaluation.store import read_run
from clsnet.experiments.published import TABLE
from clsnet.reporting.page import write_report
from tests.reporting.runs import HOSTILE, Page, write

PAPER = TABLE["FashionMNIST-10/5"]
SHOWN = HOSTILE.replace("\x07", "\N{REPLACEMENT CHARACTER}")


def test_our_figures_are_means_over_orders_of_the_run_files(page: Page, folder: Path) -> None:
    runs = [read_run(path) for path in sorted(folder.glob("ours/*/5/clsnet/*.json"))]
    assert len(runs) == 3
    ours = [cell for cell in page.rows()["clsnet, fast 3 orders"] if cell["class"] == "ours"]
    paths = [("avg_acc",), ("bwt",), ("fwt",)]
    paths += [("memory", "model_mb"), ("memory", "exemplar_mb"), ("seconds", "learn")]
    for cell, (name, *rest) in zip(ours, paths, strict=True):
        values = [run[name][rest[0]] if rest else run[name] for run in runs]
        assert float(cell["data-value"] or "nan") == pytest.approx(sum(values) / 3)


def test_the_papers_figures_stand_beside_ours(page: Page) -> None:
    theirs = [c for c in page.rows()["clsnet, fast 3 orders"] if c["class"] == "paper"]
    row = PAPER["CLSNet"]
    assert [float(cell["data-value"] or "nan") for cell in theirs] == [
        *(row.avg_acc, row.bwt, row.fwt),
        *(row.model_mb, row.exemplar_mb, row.seconds),
    ]


def test_what_only_the_paper_has_is_listed_after_our_runs(page: Page) -> None:
    headings = list(page.rows())
    only = [heading for heading in headings if heading.endswith("paper only")]
    assert len(only) == len(PAPER) - 1
    assert headings.index(only[0]) > headings.index("clsnet-demo LEAKING 1 order")
    assert all("data-value" not in page.rows()["Joint paper only"][i] for i in (0, 2, 4))


def test_a_sequence_that_the_paper_has_not_gets_no_column_for_it(page: Page) -> None:
    assert [cell["class"] for cell in page.rows()["clsnet 1 order"]] == ["ours"] * 6


def test_honest_runs_come_first_and_the_best_of_them_leads(page: Page) -> None:
    headings = [heading for heading in page.rows() if "paper only" not in heading]
    assert headings[0] == "clsnet, fast 3 orders"
    assert headings[-2] == "clsnet-demo LEAKING 1 order"  # the last one is of the other sequence
    assert "honest one is clsnet, fast: 0.9" in page.texts("p", class_="lead")[0]


@pytest.mark.parametrize("bound", ["joint", "joint-finetuned", "none"])
def test_a_bound_is_no_winner(tmp_path: Path, bound: str) -> None:
    write(tmp_path, bound, 0.9, sequence="Digits-10/1")
    write_report(tmp_path, tmp_path / "report.html")
    (lead,) = Page((tmp_path / "report.html").read_text()).texts("p", class_="lead")
    assert lead == "1 method, none of them an honest learner of one task after another."


def test_a_leaking_run_is_labelled_wherever_it_appears(page: Page) -> None:
    heads = [text for text in page.texts("th", scope="row") if "clsnet-demo" in text]
    items = [text for text in page.texts("li") if "clsnet-demo" in text]
    words = [text for text in page.texts("text") if "clsnet-demo" in text]
    said = [
        part for text in page.texts("desc") for part in text.split(";") if "clsnet-demo" in part
    ]
    titles = [text for text in page.texts("title") if "clsnet-demo" in text]
    assert [len(heads), len(items), len(words)] == [3, 1, 5]
    assert all("LEAKING" in text for text in [*heads, *items, *words, *said, *titles])
    fills = [a["fill"] for t, a, i in page.elements if t == "text" and "LEAKING" in "".join(i)]
    assert fills == ["var(--leak)"] * 5
    assert any("LEAKING: the authors" in text for text in page.texts("p", class_="warning"))


def test_every_sequence_has_its_section_and_is_linked(page: Page) -> None:
    assert page.texts("h2") == ["FashionMNIST-10/5", "Digits-10/1"]
    names = [attributes["id"] for attributes in page.attributes("section")]
    links = [attributes["href"] for attributes in page.attributes("a")]
    assert names == ["fashionmnist-10-5", "digits-10-1"]
    assert links[:2] == [f"#{name}" for name in names]


def test_a_hostile_name_is_text(page: Page, report: Path) -> None:
    assert len(page.attributes("script")) == 1
    assert not [a for _, attributes, _ in page.elements for a in attributes if a.startswith("on")]
    assert f"{SHOWN} 1 order" in page.rows()
    assert any(SHOWN in text for text in page.texts("td"))
    for path in sorted(report.with_name("report_files").glob("*.svg")):
        assert "<script" not in path.read_text(encoding="utf-8")


def test_the_page_needs_nothing_from_outside(page: Page, report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert not re.search(r"https?:|@import|url\((?!#)|src=", text)
    assert not [attributes for _, attributes, _ in page.elements if "style" in attributes]
    for attributes in page.attributes("a"):
        target = str(attributes["href"])
        assert target.startswith("#") or (report.parent / target).is_file()


def test_the_policy_lets_its_own_style_and_script_pass_and_nothing_else(page: Page) -> None:
    (meta,) = page.attributes("meta", http_equiv="Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in str(meta["content"]).split(";"))
    assert rules["default-src"] == "'none'"
    for rule, tag in (("style-src", "style"), ("script-src", "script")):
        (text,) = page.texts(tag)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert len(page.texts("script")[0].splitlines()) < 40


def test_tables_and_figures_tell_a_screen_reader_what_they_are(page: Page) -> None:
    assert len(page.texts("caption")) == len(page.attributes("table")) > 0
    buttons = page.attributes("button")
    assert len(page.attributes("th", aria_sort="none")) == len(buttons) == 13 + 7
    assert {"Avg Acc, ours", "Learning, paper"} <= {button["aria-label"] for button in buttons}
    ids = [str(attributes["id"]) for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for svg in page.attributes("svg"):
        assert svg["role"] == "img"
        assert set(str(svg["aria-labelledby"]).split()) <= set(ids)
    references = re.findall(r'(?:href="|url\()#([^")]+)', str(page.elements))
    assert set(references) <= set(ids)


def test_the_same_runs_give_the_same_bytes(folder: Path, report: Path) -> None:
    before = {path: path.read_bytes() for path in report.parent.rglob("*.*") if path.is_file()}
    write_report(folder, report)
    assert before == {path: path.read_bytes() for path in before}
    assert len(before) == 1 + 2 * (4 + 4 + 3 + 1)


def test_a_half_written_file_is_reported_and_left_alone(tmp_path: Path) -> None:
    write(tmp_path, "clsnet", 0.9, sequence="Digits-10/1")
    whole = tmp_path / "Digits-10/1/clsnet/0.json"
    broken = whole.with_name("1.json")
    broken.write_text(whole.read_text()[:200])
    lacking = whole.with_name("2.json")
    lacking.write_text(
        '{"sequence": "Digits-10/1", "R": [[1.0]], "protocol": "demo", "config": {}}'
    )
    before = broken.read_bytes()
    assert write_report(tmp_path, tmp_path / "report.html") == [
        f"{path} is not a finished run" for path in (broken, lacking)
    ]
    assert broken.read_bytes() == before
    (left_out,) = Page((tmp_path / "report.html").read_text()).texts("aside")
    assert str(broken) in left_out
    assert str(lacking) in left_out


@pytest.mark.parametrize("what", ["empty", "missing", "other"])
def test_a_folder_without_a_run_is_an_error_and_leaves_no_page(tmp_path: Path, what: str) -> None:
    folder = tmp_path / what
    if what != "missing":
        folder.mkdir()
    if what == "other":
        (folder / "notes.json").write_text("{}")
        (folder / "0.json").write_text("{}")
    said = "there is no folder" if what == "missing" else "holds no finished run"
    with pytest.raises(ClsnetError, match=said):
        write_report(folder, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_is_a_folder_is_an_error(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ClsnetError, match="is a folder"):
        write_report(folder, tmp_path)


def test_seconds_of_two_machines_are_not_averaged(tmp_path: Path) -> None:
    gpu = {"gpu": "NVIDIA H200", "threads": "16"}
    write(tmp_path / "runs", "clsnet", 0.9, sequence="Digits-10/5")
    write(tmp_path / "runs", "clsnet", 0.9, order=1, sequence="Digits-10/5", environment=gpu)
    write_report(tmp_path / "runs", tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    [cells] = page.rows().values()
    assert "data-value" in cells[0]
    assert "data-value" not in cells[-1]
    assert "2 CPU threads, NVIDIA H200" in page.texts("td")
    assert "Accuracy against time" not in page.texts("h3")
    write(tmp_path / "runs", "ncm", 0.6, sequence="Digits-10/5")
    write_report(tmp_path / "runs", tmp_path / "report.html")
    assert "Accuracy against time" in Page((tmp_path / "report.html").read_text()).texts("h3")


def test_what_all_runs_share_is_said_once(tmp_path: Path) -> None:
    for method, views in (("clsnet", 1), ("clsnet", 2), ("ncm", 2)):
        config = {"preset": None, "tune": False, "backbone": "w.safetensors", "views": views}
        write(tmp_path / f"{method}{views}", method, 0.9, sequence="Digits-10/5", config=config)
    write_report(tmp_path, tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    titles = {"clsnet, views=1 1 order", "clsnet, views=2 1 order", "ncm, views=2 1 order"}
    assert set(page.rows()) == titles
    assert "3 methods, all with backbone=w.safetensors." in page.texts("p", class_="lead")[0]


def test_a_published_row_that_contradicts_itself_is_marked_with_its_bound(page: Page) -> None:
    """Worked out by hand: 1 + 4/5 (BWT + FWT), where the accuracy is above it."""
    bounds = {"EWC": "0.3431", "DMC": "0.5074", "RM": "0.8096", "BiR": "0.6918"}
    bounds |= {"MEMO": "0.8684", "FOSTER": "0.7900"}
    assert sorted(page.texts("small", class_="verdict")) == sorted(
        f"at most {bound}" for bound in bounds.values()
    )
    for name, row in PAPER.items():
        broken = name in bounds
        if row.bwt is not None and row.fwt is not None:
            assert (row.avg_acc > 1 + 0.8 * (row.bwt + row.fwt)) == broken, name
    assert sum(note.startswith("At most") for note in page.texts("p", class_="note")) == 1
