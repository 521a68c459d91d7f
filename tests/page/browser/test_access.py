"""The page for everybody: keyboard, screen readers, small and large windows, light and dark."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.browser import ENTER, ESCAPE, TAB
from tests.page.browser.serving import Person

VIEWS = ("teach", "ask", "review", "see", "model")
CONTROLS = {"button", "link", "textbox", "combobox", "checkbox", "DisclosureTriangle", "dialog"}
SPACE = " "
TEXT_ON = [
    *(
        (ink, ground)
        for ink in ("ink", "muted", "accent", "good", "bad")
        for ground in ("page", "card")
    ),
    *(("accent", "tint"), ("bad", "bad-tint"), ("ink", "tint"), ("on-accent", "accent")),
    *(("card", "bad"), ("page", "ink")),
]


@pytest.fixture
def full(person: Person, shapes_folder: Path) -> Person:
    """Somebody who has taught, asked and typed: every kind of control is there."""
    card = person.card("square-r")
    person.gives(f"{card} [data-part=choose]", [shapes_folder / "square-y" / "0.png"])
    person.sees(f"{card} .good", "Learned 1 photo.")
    person.browser.press("#new-name", "w" * 80 + ENTER)
    person.goes_to("ask")
    photos = [shapes_folder / "square-g" / "1.png", shapes_folder / "stripes-y" / "1.png"]
    person.gives("#ask [data-part=choose]", photos)
    person.sees(".answer h2")
    return person


def test_every_control_has_a_name_and_every_view_its_landmarks(full: Person) -> None:
    for view in VIEWS:
        full.goes_to(view)
        nodes = full.browser.devtools("Accessibility.getFullAXTree")["nodes"]
        told = [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node["ignored"]
        ]
        assert [role for role, name in told if role in CONTROLS and not name.strip()] == []
        roles = [role for role, _ in told]
        for landmark in ("banner", "navigation", "main", "contentinfo"):
            assert roles.count(landmark) == 1, (view, landmark)


def test_headings_are_in_order(full: Person) -> None:
    script = """
        return [...document.querySelectorAll("h1, h2, h3, h4")]
          .filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))
    """
    for view in VIEWS:
        full.goes_to(view)
        levels = full.browser.run(script)
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b - a <= 1 for a, b in pairwise(levels)), view


def test_no_view_scrolls_sideways(full: Person) -> None:
    for view in VIEWS:
        full.goes_to(view)
        for width in (360, 768, 1280, 2560):
            full.browser.resize(width)
            wide = full.browser.run("return document.documentElement.scrollWidth")
            assert wide <= width, (view, width)
    full.browser.resize(1280)


def test_fingers_find_everything_they_press(full: Person) -> None:
    script = """
        return [...document.querySelectorAll("button, .button, nav a, input[type=text], summary")]
          .filter((one) => one.checkVisibility())
          .filter((one) => one.getBoundingClientRect().height < 43.5)
          .map((one) => one.outerHTML);
    """
    for view in VIEWS:
        full.goes_to(view)
        full.browser.resize(360)
        assert full.browser.run(script) == []
    full.browser.resize(1280)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_black_and_white_at_most() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_the_theme_can_be_told_apart(start: Callable[..., Person], scheme: str) -> None:
    person = start(scheme=scheme)
    script = "return getComputedStyle(document.documentElement).getPropertyValue(arguments[0])"

    def colour(name: str) -> str:
        return str(person.browser.run(script, f"--{name}")).strip()

    for ink, ground in TEXT_ON:
        assert contrast(colour(ink), colour(ground)) >= 4.5, (scheme, ink, ground)
    for ground in ("page", "card"):
        assert contrast(colour("edge"), colour(ground)) >= 3, (scheme, ground)
    person.browser.resize(1280)


def test_a_class_is_taught_and_asked_about_by_keyboard_alone(person: Person) -> None:
    focus = "return document.activeElement"
    person.browser.type(TAB)
    assert person.browser.run(f"{focus}.textContent") == "Skip to the content"
    person.browser.type(ENTER)
    assert person.browser.run(f"{focus}.id") == "main"
    person.browser.type(TAB)
    assert person.browser.run(f"{focus}.id") == "new-name"
    person.browser.type("cup" + ENTER)
    card = person.card("cup")
    assert person.browser.run(f"{focus}.dataset.part") == "choose"
    outline = "return getComputedStyle(document.activeElement.parentElement).outlineStyle"
    assert person.browser.run(outline) == "solid"
    person.browser.type(TAB + TAB)
    assert person.browser.run(f"{focus}.dataset.part") == "webcam"
    person.browser.type(ENTER)
    person.browser.wait("return document.activeElement.classList.contains('hold')")
    person.browser.wait("return document.querySelector(arguments[0]).videoWidth", f"{card} video")
    person.browser.type(SPACE, hold=0.8)
    person.sees(f"{card} .good", "Learned")
    assert person.photos()["cup"] >= 2
    person.browser.run("document.querySelector('.skip').focus()")
    person.browser.type(TAB + TAB + TAB)
    assert person.browser.run(f"{focus}.textContent") == "Ask"
    person.browser.type(ENTER)
    person.sees("#ask-title", "Ask")


def test_a_dialog_takes_the_focus_and_gives_it_back(person: Person) -> None:
    button = f"{person.card('square-r')} [data-part=forget]"
    person.browser.press(button, ENTER)
    person.sees("#confirm")
    assert person.browser.run("return document.activeElement.value") == "no"
    person.browser.type(ESCAPE)
    script = "return document.activeElement === document.querySelector(arguments[0])"
    assert person.browser.wait(script, button)


def test_nothing_moves_for_those_who_asked_for_less_motion(person: Person) -> None:
    script = """
        return [...document.querySelectorAll("*")].some((one) =>
          getComputedStyle(one).transitionDuration !== "0s" || one.getAnimations().length)
    """
    assert person.browser.run(script)
    features = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    person.browser.devtools("Emulation.setEmulatedMedia", features=features)
    assert not person.browser.run(script)
    person.browser.resize(1280)


def test_the_page_is_light_and_comes_from_here_alone(person: Person) -> None:
    script = """
        return ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
          .map(({ name, encodedBodySize }) => [name, encodedBodySize]);
    """
    loaded = person.browser.run(script)
    here = person.browser.run("return location.origin")
    assert all(name.startswith(here) for name, _ in loaded)
    assert 20_000 < sum(size for _, size in loaded) < 75_000


def test_names_that_are_long_or_read_from_right_to_left_fit(
    person: Person, shapes_folder: Path
) -> None:
    photo = shapes_folder / "square-y" / "0.png"
    for name in ("n" * 200, "قطة سوداء صغيرة"):
        person.browser.press("#new-name", name + ENTER)
        card = person.card(name)
        person.gives(f"{card} [data-part=choose]", [photo])
        person.sees(f"{card} .good")
    person.browser.resize(360)
    person.browser.press(f"{person.card('n' * 200)} [data-part=forget]", ENTER)
    person.sees("#confirm")
    inside = (
        "const box = document.querySelector('#confirm'); return box.scrollWidth <= box.clientWidth"
    )
    assert person.browser.run(inside)
    person.browser.type(ESCAPE)
    person.browser.resize(1280)
    arabic = person.card("قطة سوداء صغيرة")
    direction = "return getComputedStyle(document.querySelector(arguments[0])).direction"
    assert person.browser.run(direction, f"{arabic} h2") == "rtl"
    assert person.browser.run(direction, f"{person.card('square-r')} h2") == "ltr"


def test_of_many_classes_the_table_shows_those_that_are_confused(person: Person) -> None:
    """The browser is told of 60 classes, of which the last two are taken for each other."""
    script = """
        const labels = Array.from({ length: 60 }, (_, i) => `class ${i}`);
        const rows = labels.map((_, i) => labels.map((_, j) => Number(i === j)));
        rows[58][59] = rows[59][58] = 0.4;
        const points = labels.map((label, i) => ({
          label, x: Math.cos(i), y: Math.sin(i), photos: 5,
        }));
        const real = window.fetch;
        window.fetch = (path, ...more) => {
          const told = { map: { points }, confusions: { labels, rows } };
          const found = told[path.split("/").at(-1)];
          return found ? Promise.resolve(Response.json(found)) : real(path, ...more);
        };
    """
    person.browser.run(script)
    person.goes_to("see")
    person.sees("#see", "These are the 30 classes of 60 that are confused most.")
    assert person.counts("#see tbody td") == 900
    table = person.reads("#see tbody")
    assert "class 58" in table and "class 59" in table
    outside = """
        return [...document.querySelectorAll("#see .map text")].filter((text) => {
          const [inner, outer] = [text, text.ownerSVGElement].map((e) => e.getBoundingClientRect());
          return inner.top < outer.top - 3 || inner.bottom > outer.bottom + 3;
        }).length
    """
    assert person.browser.run(outside) == 0
