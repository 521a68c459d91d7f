"""Pixels, features of a frozen network, and a network that is fine-tuned are told apart."""

from pathlib import Path

import pytest

from clsnet.evaluation.summaries import summarise
from clsnet.reporting.folder import read_folder
from clsnet.reporting.markdown import markdown_table
from clsnet.reporting.page import write_report
from tests.reporting.runs import SEQUENCE, Page, write

NETWORK = {"backbone": "w.safetensors"}


@pytest.fixture
def forms(tmp_path: Path) -> Path:
    """One method in three forms, with sizes of their own."""
    for name, config, sizes in (
        ("pixels", {}, (5.0, 2.0, 0.0)),
        ("frozen", NETWORK, (6.0, 3.0, 43.0)),
        ("tuned", {**NETWORK, "form": "tuned"}, (44.0, 4.0, 0.0)),
    ):
        memory = dict(zip(("model_mb", "exemplar_mb", "backbone_mb"), sizes, strict=True))
        config = {"preset": None, "tune": False, **config}
        write(tmp_path / name, "rm", 0.7, sequence=SEQUENCE, config=config, memory=memory)
    return tmp_path


def rows(folder: Path) -> list[dict[str, str]]:
    lines = markdown_table(SEQUENCE, summarise(read_folder(folder).runs)).splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]


def test_each_form_is_a_row_with_its_memory_and_time(forms: Path) -> None:
    found = {row["form"]: row for row in rows(forms)}
    assert list(found) == ["F", "pixels", "T"]
    names = ("method", "model MB", "exemplars MB", "network MB", "learn (s)")
    assert [found["pixels"][name] for name in names] == ["rm", "5.00", "2.00", "–", "3.2"]
    assert [found["F"][name] for name in names] == [
        *("rm, w.safetensors", "6.00", "3.00", "43.00", "3.2"),
    ]
    assert [found["T"][name] for name in names] == [
        *("rm, w.safetensors, T", "44.00", "4.00", "–", "3.2"),
    ]


def test_the_page_tells_them_apart_and_says_what_they_mean(forms: Path) -> None:
    write_report(forms, forms / "report.html")
    page = Page((forms / "report.html").read_text())
    assert page.texts("th", scope="colgroup")[0] == "Form"
    assert sorted(cells[0]["data-value"] or "" for cells in page.rows().values()) == ["0", "1", "2"]
    assert page.texts("p", class_="note")[0].startswith("Form: pixels, no pretrained network; F,")


def test_a_table_of_pixels_alone_has_no_such_column(tmp_path: Path) -> None:
    write(tmp_path, "rm", 0.7, sequence=SEQUENCE)
    assert "form" not in rows(tmp_path)[0]
    assert "Form" not in markdown_table(SEQUENCE, summarise(read_folder(tmp_path).runs))


def test_joint_fine_tuning_trains_the_network_too(tmp_path: Path) -> None:
    memory = {"model_mb": 43.0, "exemplar_mb": 9.0, "backbone_mb": 43.0}
    write(tmp_path, "joint-finetuned", 0.7, sequence=SEQUENCE, memory=memory)
    assert rows(tmp_path)[0]["form"] == "T"
