from collections.abc import Callable
from pathlib import Path

from tests.page.browser.serving import Person


def test_photos_are_taught_by_upload(person: Person, shapes_folder: Path) -> None:
    assert person.cards() == ["square-g", "square-r", "stripes-b"]
    card = person.card("stripes-b")
    person.gives(f"{card} [data-part=choose]", sorted((shapes_folder / "stripes-y").iterdir())[:4])
    person.sees(f"{card} .good", "Learned 4 photos.")
    assert "14 photos" in person.reads(card)
    assert "Recognised" in person.reads(card)
    assert person.counts(f"{card} .thumb") == 4
    assert person.photos() == {"square-r": 10, "square-g": 10, "stripes-b": 14}
    assert "3 classes, 34 photos" in person.reads("header")
    person.gives(f"{card} [data-part=choose]", [shapes_folder / "stripes-y" / "0.png"])
    person.sees(f"{card} .good", "1 photo was known already.")
    assert person.counts(f"{card} .thumb") == 4


def test_a_new_class_gets_a_card_and_a_folder_dropped_on_it(
    person: Person, shapes_folder: Path
) -> None:
    person.browser.press("#new-name", "yellow\n")
    card = person.card("yellow")
    person.sees(card, "No photos yet")
    person.drops(card, [shapes_folder / "stripes-y"])
    person.sees(f"{card} .good", "Learned 10 photos.")
    person.sees("#promise", "No photo is stored.")
    person.browser.run("location.reload()")
    assert person.photos()["yellow"] == 10


def test_folders_dropped_where_new_classes_begin_become_classes(
    person: Person, shapes_folder: Path
) -> None:
    person.drops("#new-class", [shapes_folder / "square-y", shapes_folder / "stripes-g"])
    for label in ("square-y", "stripes-g"):
        person.sees(f"{person.card(label)} .good", "Learned 10 photos.")
    assert person.photos()["stripes-g"] == 10


def test_pictures_are_taken_while_a_button_is_held(person: Person) -> None:
    card = person.card("square-r")
    person.browser.click(f"{card} [data-part=webcam]")
    person.sees(f"{card} video")
    person.browser.wait("return document.querySelector(arguments[0]).videoWidth", f"{card} video")
    person.browser.hold(f"{card} .hold", 1.0)
    said = person.sees(f"{card} .good", "Learned")
    taken = person.photos()["square-r"] - 10
    assert said.startswith(f"Learned {taken} photos.")
    assert taken >= 3
    assert person.counts(f"{card} .thumb") >= taken
    person.goes_to("ask")
    tracks = "return document.querySelector(arguments[0]).srcObject"
    assert person.browser.run(tracks, f"{card} video") is None  # the webcam is off


def test_a_large_folder_goes_in_batches_with_a_bar(person: Person, shapes_folder: Path) -> None:
    card = person.card("square-r")
    script = """
        const [bar, real] = [document.querySelector(arguments[0]), window.fetch];
        window.values = [];
        window.fetch = (...given) => {
          if (given[0].includes("learn")) window.values.push([bar.value, bar.max]);
          return real(...given);
        };
    """
    person.browser.run(script, f"{card} progress")
    photos = [p for p in sorted(shapes_folder.rglob("*.png")) if p.parent.name[-1] in "yg"]
    person.gives(f"{card} [data-part=choose]", photos)
    person.sees(f"{card} .good", "Learned 40 photos.")
    assert person.browser.run("return window.values") == [[0, 40], [32, 40]]
    assert person.photos()["square-r"] == 50


def test_bad_files_and_names_are_told_and_the_page_goes_on(
    person: Person, shapes_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.png").write_text("this is no photo")
    (tmp_path / "empty.jpg").write_bytes(b"")
    good = shapes_folder / "stripes-y" / "0.png"
    card = person.card("square-r")
    person.gives(
        f"{card} [data-part=choose]", [tmp_path / "notes.png", good, tmp_path / "empty.jpg"]
    )
    said = person.sees(f"{card} .bad", "2 photos could not be read.")
    assert "Cannot read the image notes.png: " in said.splitlines()[1]
    assert "Cannot read the image empty.jpg: " in said.splitlines()[2]
    assert "Learned 1 photo." in person.reads(f"{card} .good")
    (tmp_path / "bare").mkdir()
    person.drops(person.card("square-g"), [tmp_path / "bare"])
    person.sees(f"{person.card('square-g')} .bad", "There is no photo in it.")
    person.browser.run("document.querySelector('#new-name').value = 'n'.repeat(10000)")
    person.browser.press("#new-name", "\n")
    long = person.card("n" * 10000)
    person.gives(f"{long} [data-part=choose]", [good])
    person.sees(f"{long} .bad", "characters")
    assert person.browser.run("return document.documentElement.scrollWidth") <= 1280
    person.browser.click(f"{long} [data-part=forget]")
    assert person.cards() == ["square-g", "square-r", "stripes-b"]
    assert person.photos() == {"square-r": 11, "square-g": 10, "stripes-b": 10}
    assert len(person.browser.console()) == 1  # the browser notes the refused request


def test_the_first_minute_teaches_three_colours_of_paper(
    start: Callable[..., Person],
) -> None:
    person = start("empty")
    person.sees("#first", "Teach it three colours of paper")
    person.browser.resize(360)
    for colour in ("red", "green", "blue"):
        person.sees("#first [data-part=what]", f"{colour} paper")
        person.browser.click("#first [data-part=draw]")
    person.sees("#first", "It knows three colours now")
    assert person.browser.run("return document.documentElement.scrollWidth") == 360
    person.browser.resize(1280)
    assert person.photos() == {"blue paper": 8, "green paper": 8, "red paper": 8}
    person.browser.click("#first [data-part=done]")
    person.sees("#answers .answer h2")
    assert person.browser.run("return location.hash") == "#ask"
    person.goes_to("teach")
    person.sees("#teach-head h1", "Teach")


def test_the_first_minute_works_with_the_webcam_and_can_be_left(
    start: Callable[..., Person],
) -> None:
    person = start("empty")
    person.browser.click("#first [data-part=webcam]")
    person.browser.wait("return document.querySelector('#first video').videoWidth")
    person.browser.hold("#first .hold", 0.6)
    person.sees("#first [data-part=what]", "green paper")
    assert person.photos()["red paper"] >= 2
    person.browser.click("#first [data-part=closing]")
    person.sees("#new-class")
    assert not person.browser.run("return document.querySelector('#first').checkVisibility()")
