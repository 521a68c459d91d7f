from pathlib import Path

import pytest

from tests.browser import ENTER, Browser, needs_browser
from tests.reporting.reproduced import write_page_of

pytestmark = needs_browser
PLAIN = "table.plain.sortable"
COLUMN = f"""
    const rows = [...document.querySelector("{PLAIN}").tBodies[0].rows];
    return rows.map((row) => row.cells[1].dataset.value ?? null);
"""
OUTSIDE = """
    return [...document.querySelectorAll("svg text")].filter((text) => {
      const [inner, outer] = [text, text.ownerSVGElement].map((e) => e.getBoundingClientRect());
      return inner.left < outer.left - 1 || inner.right > outer.right + 1
          || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
    }).map((text) => text.textContent)
"""


@pytest.fixture(scope="module")
def output(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reproduction") / "page.html"
    write_page_of(folder, path)
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_its_window_and_the_console_is_silent(
    browser: Browser, output: Path, width: int, scheme: str
) -> None:
    browser.open(output, width, scheme=scheme)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    inner, page = browser.run("return [innerWidth, document.documentElement.scrollWidth]")
    assert inner == width
    assert page <= inner
    assert browser.console() == []
    colour = browser.run("return getComputedStyle(document.querySelector('.holds')).color")
    assert colour == {"light": "rgb(17, 107, 55)", "dark": "rgb(90, 208, 141)"}[scheme]


def test_a_heading_sorts_a_plain_table_by_keyboard(browser: Browser, output: Path) -> None:
    browser.open(output, 1280)
    before = [float(value) for value in browser.run(COLUMN)]
    for order in (True, False):
        browser.press(f"{PLAIN} thead th:nth-child(2) button", ENTER)
        assert [float(value) for value in browser.run(COLUMN)] == sorted(before, reverse=order)


def test_the_contents_lead_to_a_section_by_keyboard(browser: Browser, output: Path) -> None:
    browser.open(output, 1280)
    browser.press("nav a[href='#imagenet']", ENTER)
    top = "return document.querySelector('#imagenet').getBoundingClientRect().top"
    assert abs(browser.run(top)) < 844
    assert browser.run("return location.hash") == "#imagenet"


def test_every_label_lies_within_its_figure(browser: Browser, output: Path) -> None:
    browser.open(output, 1280)
    assert browser.run(OUTSIDE) == []


def test_figures_stand_side_by_side_where_there_is_room(browser: Browser, output: Path) -> None:
    places = """
        return [...document.querySelectorAll("#terms .charts figure")]
          .map((figure) => figure.getBoundingClientRect()).map((box) => [box.left, box.top]);
    """
    browser.open(output, 1280)
    first, second = browser.run(places)
    assert first[1] == second[1]
    browser.open(output, 390)
    first, second = browser.run(places)
    assert first[1] < second[1]
