"""Forget, undo, merge, export, and other hands on the same model."""

import shutil
from pathlib import Path

import pytest

from clsnet.photos import forget, info
from tests.browser import Browser
from tests.page.browser.serving import Person, Served


def names(person: Person) -> set[str]:
    return set(person.photos())


def test_a_class_is_forgotten_after_a_question_and_comes_back(person: Person) -> None:
    card = person.card("square-r")
    person.browser.click(f"{card} [data-part=forget]")
    person.sees("#confirm", "Forget square-r?")
    person.browser.click("#confirm [value=no]")
    assert names(person) == {"square-g", "square-r", "stripes-b"}
    person.browser.click(f"{card} [data-part=forget]")
    person.browser.click("#confirm [value=yes]")
    person.sees("#notice", "Forgot square-r: 10 photos.")
    assert person.cards() == ["square-g", "stripes-b"]
    assert names(person) == {"square-g", "stripes-b"}
    person.browser.click("#undo")
    assert person.sees("#notice", "Undone: forgot").count("Undone") == 1
    assert "square-r" in person.cards()
    assert person.photos() == {"square-g": 10, "square-r": 10, "stripes-b": 10}


def test_a_single_photo_is_given_another_name_or_forgotten(
    person: Person, shapes_folder: Path
) -> None:
    card = person.card("square-r")
    photos = [shapes_folder / "stripes-y" / f"{i}.png" for i in range(2)]
    person.gives(f"{card} [data-part=choose]", photos)
    person.sees(f"{card} .good", "Learned 2 photos.")
    person.browser.click(f"{card} .thumb")
    person.sees("#photo", "Learned as square-r")
    person.browser.click("#photo .names button:nth-of-type(2)")
    person.sees("#notice", "Moved 1 photo from square-r to stripes-b.")
    assert person.counts(f"{card} .thumb") == 1
    assert person.browser.run("return document.activeElement.dataset.part") == "choose"
    assert person.counts(f"{person.card('stripes-b')} .thumb") == 1
    person.browser.click(f"{card} .thumb")
    person.browser.click("#photo [data-part=forget]")
    person.sees("#notice", "Forgot one photo of square-r.")
    assert person.photos() == {"square-g": 10, "square-r": 10, "stripes-b": 11}


def test_another_model_is_merged(person: Person, taught: Path, tmp_path: Path) -> None:
    person.goes_to("model")
    person.gives("#model [data-part=other]", [taught / "other.clsnet"])
    person.sees("#model .good", "Merged other.clsnet: 10 photos more.")
    assert person.photos()["stripes-y"] == 10
    (tmp_path / "bad.clsnet").write_bytes(b"this is no model")
    person.gives("#model [data-part=other]", [tmp_path / "bad.clsnet"])
    person.sees("#model .bad")
    assert len(person.photos()) == 4
    assert len(person.browser.console()) == 1  # the browser notes the refused request


def test_the_model_is_downloaded_and_exported(person: Person, tmp_path: Path) -> None:
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path), "eventsEnabled": False}
    person.browser.devtools("Browser.setDownloadBehavior", **behaviour)
    person.goes_to("model")
    person.browser.click("#model [data-part=download]")
    person.sees("#model .good", "The model is in your downloads.")
    person.browser.click("#model [data-part=export]")
    person.sees("#model .good", "The ONNX file is in your downloads.")
    wanted = tmp_path / "pets.clsnet", tmp_path / "pets.onnx"
    person.browser.wait("return new Promise((done) => setTimeout(() => done(true), 300))")
    assert wanted[0].read_bytes() == person.model.read_bytes()
    assert wanted[1].stat().st_size > 1000


def test_the_model_says_what_it_is_and_could_tell(person: Person) -> None:
    person.goes_to("model")
    said = person.sees("#model", "What the file could tell")
    assert "3 classes, 30 photos" in said
    assert "The file holds no photo" in said
    assert "Expected accuracy" in said
    assert person.counts("#model .history li") == 1


def test_classes_are_seen_on_a_map_in_a_table_and_as_they_grew(
    person: Person, shapes_folder: Path
) -> None:
    card = person.card("square-r")
    person.gives(f"{card} [data-part=choose]", sorted((shapes_folder / "stripes-y").iterdir()))
    person.sees(f"{card} .good", "Learned 10 photos.")
    person.goes_to("see")
    person.sees("#see", "Most alike:")
    assert person.counts("#see .map circle") == 3
    assert person.counts("#see tbody td") == 9
    assert person.counts("#see .growth circle") >= 2
    outside = """
        return [...document.querySelectorAll("#see svg text")].filter((text) => {
          const [inner, outer] = [text, text.ownerSVGElement].map((e) => e.getBoundingClientRect());
          return inner.left < outer.left - 1 || inner.right > outer.right + 1;
        }).map((text) => text.textContent)
    """
    assert person.browser.run(outside) == []


def test_two_tabs_show_the_same(person: Person, served: Served, shapes_folder: Path) -> None:
    browser = person.browser
    (first,) = browser.tabs()
    second = browser.new_tab()
    browser.go_to_tab(second)
    try:
        person.opens(served.address)
        card = person.card("square-g")
        person.gives(f"{card} [data-part=choose]", [shapes_folder / "square-y" / "0.png"])
        browser.go_to_tab(first)
        person.gives(f"{card} [data-part=choose]", [shapes_folder / "square-y" / "1.png"])
        person.sees("header", "32 photos")
        browser.go_to_tab(second)
        person.sees("header", "32 photos")
        assert browser.console() == []
    finally:
        browser.close_tab()
        browser.go_to_tab(first)


def test_a_change_from_elsewhere_is_seen_when_the_window_comes_back(person: Person) -> None:
    forget(person.model, ["stripes-b"])
    person.browser.run("window.dispatchEvent(new Event('focus'))")
    person.sees("header", "2 classes, 20 photos")
    assert person.cards() == ["square-g", "square-r"]


def test_a_model_deleted_under_the_page_is_told(person: Person, shapes_folder: Path) -> None:
    kept = person.model.read_bytes()
    person.model.unlink()
    person.browser.run("window.dispatchEvent(new Event('focus'))")
    person.sees("#notice", "pets.clsnet is no longer in its folder.")
    person.goes_to("ask")
    person.gives("#ask [data-part=choose]", [shapes_folder / "square-r" / "0.png"])
    person.sees("#ask > .bad")
    person.model.write_bytes(kept)
    person.gives("#ask [data-part=choose]", [shapes_folder / "square-r" / "0.png"])
    person.sees(".answer h2", "square-r")
    assert len(person.browser.console()) == 1


def test_a_full_disk_is_told_and_the_page_goes_on(
    person: Person, served: Served, shapes_folder: Path
) -> None:
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("limits of another process can be set on Linux only")
    card, pid = person.card("square-r"), served.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    kept = person.model.read_bytes()
    photos = sorted((shapes_folder / "stripes-y").iterdir())
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        person.gives(f"{card} [data-part=choose]", photos)
        person.sees(f"{card} .bad", "make room and try again")
        assert person.model.read_bytes() == kept
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    person.gives(f"{card} [data-part=choose]", photos)
    person.sees(f"{card} .good", "Learned 10 photos.")
    assert len(person.browser.console()) == 1  # the browser notes the refused request


@pytest.fixture
def own(browser: Browser, environment: dict[str, str], taught: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(taught / "pets.clsnet", tmp_path / "pets.clsnet"))


def test_the_page_goes_on_after_the_server_was_killed_and_started_again(
    browser: Browser, own: Path, environment: dict[str, str], shapes_folder: Path
) -> None:
    person, served = Person(browser, own), Served(own, environment)
    try:
        person.opens(served.link)
        card = person.card("square-r")
        served.kill()
        person.gives(f"{card} [data-part=choose]", [shapes_folder / "stripes-y" / "0.png"])
        person.sees(f"{card} .bad", "clsnet does not answer.")
        person.sees("#gone", "Start it again with “clsnet page pets.clsnet”")
        assert sum(info(own).counts.values()) == 30
        served = Served(own, environment, served.port)
        person.sees("#gone", "Open the address that it printed")
        person.opens(served.link)
        person.gives(
            f"{person.card('square-r')} [data-part=choose]", [shapes_folder / "stripes-y" / "0.png"]
        )
        person.sees("header", "31 photos")
        assert not browser.run("return document.querySelector('#gone').checkVisibility()")
    finally:
        served.kill()
        browser.open("about:blank", 1280)
        browser.console()
