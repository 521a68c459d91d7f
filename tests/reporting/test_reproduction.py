import re
from pathlib import Path

import pytest

from clsnet.errors import ClsnetError
from clsnet.reporting.html import check_page
from tests.reporting.reproduced import ODD, write_page_of
from tests.reporting.runs import Page


@pytest.fixture(scope="session")
def output(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reproduction") / "page.html"
    write_page_of(folder, path)
    return path


@pytest.fixture(scope="session")
def reproduction(output: Path) -> Page:
    return Page(output.read_text(encoding="utf-8"))


def test_every_experiment_is_linked_with_its_verdict(reproduction: Page) -> None:
    names = [attributes["id"] for attributes in reproduction.attributes("section")]
    assert names == ["fashion-mnist", "terms", "imagenet"]
    links = [attributes["href"] for attributes in reproduction.attributes("a")]
    assert links[:3] == [f"#{name}" for name in names]
    assert reproduction.texts("strong", class_="fails") == ["does not hold", "Does not hold."]
    assert reproduction.texts("strong", class_="holds") == ["holds", "Holds."]
    assert reproduction.texts("strong", class_="untested") == [
        "not measured yet",
        "Not measured yet.",
    ]


def test_a_section_says_claim_finding_reason_time_and_command(reproduction: Page) -> None:
    paragraphs = reproduction.texts("p")
    assert any(text.startswith("Claim. CLSNet reaches") for text in paragraphs)
    assert "Does not hold. It reaches 0.6. It leads. Because." in paragraphs
    (timed,) = [text for text in paragraphs if "s of learning and testing on" in text]
    assert timed.startswith("clsnet reproduce fashion-mnist · 6 runs, ")
    commands = [text for text in reproduction.texts("li") if text.startswith("clsnet bench")]
    assert any("--protocol demo" in text and text.endswith("LEAKING") for text in commands)


def test_a_table_shows_its_figures_and_marks_what_leaks(reproduction: Page) -> None:
    rows = reproduction.rows()
    assert [cell.get("data-value") for cell in rows["term 1"]] == ["0.2", "-0.9", "0.0"]
    assert [cell["class"] for cell in rows["term 1, as published"]] == ["paper"] * 3
    assert "data-value" not in rows[f"terms {ODD}"][2]
    kinds = [a["class"] for a in reproduction.attributes("tr") if a.get("class")]
    assert kinds[-5:] == ["own", "own", "leaks", "published", "run"]
    assert "0.2000 ± 0.0100" in reproduction.texts("td")
    assert "−0.9000" in reproduction.texts("td")


def test_what_is_missing_is_said(reproduction: Page) -> None:
    (aside,) = reproduction.texts("aside")
    assert f"ewc on {ODD}: no data" in aside


def test_the_quick_version_says_so(folder: Path, tmp_path: Path, reproduction: Page) -> None:
    said = "This is the quick version"
    assert not any(said in text for text in reproduction.texts("p", class_="warning"))
    page = write_page_of(folder, tmp_path / "page.html", quick=True)
    assert any(said in text for text in page.texts("p", class_="warning"))


def test_a_hostile_name_is_text_and_the_page_needs_nothing_from_outside(
    reproduction: Page, output: Path
) -> None:
    text = output.read_text(encoding="utf-8")
    assert len(reproduction.attributes("script")) == 1
    assert not re.search(r"https?:|@import|url\((?!#)|src=", text)
    assert not [a for _, attributes, _ in reproduction.elements for a in attributes if a == "style"]
    for attributes in reproduction.attributes("a"):
        target = str(attributes["href"])
        assert target.startswith("#") or (output.parent / target).is_file()


def test_ids_are_unique_and_references_lead_somewhere(reproduction: Page) -> None:
    ids = [str(a["id"]) for _, a, _ in reproduction.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', str(reproduction.elements))) <= set(ids)
    for svg in reproduction.attributes("svg"):
        assert svg["role"] == "img"
        assert set(str(svg["aria-labelledby"]).split()) <= set(ids)
    assert len(reproduction.texts("caption")) == len(reproduction.attributes("table"))


def test_figures_are_files_too_and_the_same_bytes_every_time(folder: Path, output: Path) -> None:
    names = {path.name for path in output.with_name("page_files").iterdir()}
    figures = ("fashion-mnist-2-memory", "fashion-mnist-2-time", "fashion-mnist-3")
    figures += ("terms-3", "terms-4")
    assert names == {f"{figure}.{kind}" for figure in figures for kind in ("svg", "png")}
    before = {path: path.read_bytes() for path in output.parent.rglob("*.*") if path.is_file()}
    write_page_of(folder, output)
    assert before == {path: path.read_bytes() for path in before}


def test_steps_of_a_logarithmic_axis_are_powers_of_ten(output: Path) -> None:
    text = (output.with_name("page_files") / "terms-3.svg").read_text()
    assert ">10⁶<" in text
    assert "ours: 0.2000 at 1, 0.6000 at 1000, 0.5000 at 1e+06" in text


def test_a_page_that_is_read_only_is_an_error(public_folder: Path, as_nobody) -> None:
    page = public_folder / "page.html"
    page.touch()
    page.chmod(0o444)
    (public_folder / "page_files").mkdir()
    (public_folder / "page_files").chmod(0o777)
    with as_nobody(), pytest.raises(ClsnetError, match=r"cannot write .*page[.]html"):
        check_page(page)
