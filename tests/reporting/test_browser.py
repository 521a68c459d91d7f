from pathlib import Path

import pytest

from clsnet.reporting.page import write_report
from tests.browser import ENTER, Browser, needs_browser

pytestmark = needs_browser
COLUMN = """
    const rows = [...document.querySelector("table.sortable").tBodies[0].rows];
    return rows.map((row) => row.cells[COLUMN].dataset.value ?? null);
"""
HEAD = "table.sortable thead tr:nth-child(2) th:nth-child({}) button"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_its_window_and_the_console_is_silent(
    browser: Browser, report: Path, width: int, scheme: str
) -> None:
    browser.open(report, width, scheme=scheme)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    inner, page = browser.run("return [innerWidth, document.documentElement.scrollWidth]")
    assert inner == width
    assert page <= inner
    assert browser.console() == []
    assert browser.run("return document.scripts.length") == 1


@pytest.mark.parametrize("width", [1280, 390])
def test_seeds_differences_and_networks_fit_too(
    browser: Browser, three_seeds: Path, tmp_path: Path, width: int
) -> None:
    write_report(three_seeds, tmp_path / "report.html")
    browser.open(tmp_path / "report.html", width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.console() == []
    cells = browser.run(COLUMN.replace("COLUMN", "3"))
    browser.press(HEAD.format(3), ENTER)
    figures = sorted((float(value) for value in cells if value is not None), reverse=True)
    after = browser.run(COLUMN.replace("COLUMN", "3"))
    assert [float(value) for value in after[:-1]] == figures
    assert after[-1] is None  # the reference
    table, region = browser.run("""
        const table = document.querySelector("table.sortable");
        return [table, table.parentElement].map((e) => e.getBoundingClientRect().width);
    """)
    assert table <= region or width < 1280  # a narrow window scrolls the table, not the page


def test_every_label_lies_within_its_figure(browser: Browser, report: Path) -> None:
    browser.open(report, 1280)
    assert (
        browser.run("""
        return [...document.querySelectorAll("svg text")].filter((text) => {
          const [inner, outer] = [text, text.ownerSVGElement].map((e) => e.getBoundingClientRect());
          return inner.left < outer.left - 1 || inner.right > outer.right + 1
              || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
        }).map((text) => text.textContent)
    """)
        == []
    )


def test_figures_follow_the_theme(browser: Browser, report: Path) -> None:
    colour = "return getComputedStyle(document.querySelector('svg text')).fill"
    browser.open(report, 1280, scheme="light")
    light = browser.run(colour)
    browser.open(report, 1280, scheme="dark")
    assert light == "rgb(27, 31, 36)"
    assert browser.run(colour) == "rgb(232, 236, 240)"


def test_a_heading_sorts_by_keyboard_and_says_so(browser: Browser, report: Path) -> None:
    browser.open(report, 1280)
    before = browser.run(COLUMN.replace("COLUMN", "2"))
    figures = sorted(float(value) for value in before if value is not None)
    missing = [None] * before.count(None)
    for order, expected in (("descending", figures[::-1]), ("ascending", figures)):
        browser.press(HEAD.format(2), ENTER)
        after = browser.run(COLUMN.replace("COLUMN", "2"))
        assert [float(value) for value in after if value is not None] == expected
        assert after[len(figures) :] == missing
        heads = "return [...document.querySelectorAll('table.sortable')[0]"
        said = browser.run(f"{heads}.querySelectorAll('th[aria-sort]')].map((h) => h.ariaSort)")
        assert [said[2], said.count("none")] == [order, 12]


def test_methods_sort_by_name(browser: Browser, report: Path) -> None:
    browser.open(report, 1280)
    browser.press("table.sortable thead th:first-child button", ENTER)
    names = browser.run("""
        return [...document.querySelector("table.sortable").tBodies[0].rows]
          .map((row) => row.cells[0].textContent)
    """)
    assert names.index("BiR paper only") < names.index("clsnet, fast 3 orders")
    assert names.index("clsnet, fast 3 orders") < names.index("DER paper only")
    assert names[-1] == "SpaceNet paper only"
