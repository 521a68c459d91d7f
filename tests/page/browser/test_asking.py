from pathlib import Path

from PIL import Image

from tests.browser import ENTER
from tests.page.browser.serving import Person

CHOOSE = "#ask [data-part=choose]"


def test_photos_are_asked_about_and_the_answer_says_why(
    person: Person, shapes_folder: Path
) -> None:
    person.goes_to("ask")
    person.gives(CHOOSE, [shapes_folder / "square-r" / "1.png"])
    said = person.sees(".answer", "square-r")
    assert person.reads(".answer h2") == "square-r"
    assert person.counts(".answer .bars li") == 3
    assert "It looks most like square-r, then" in said
    assert "%" in person.reads(".answer .best .share")
    assert person.browser.run("return document.activeElement.className") == "answer"
    assert "square-r" in person.browser.run("return document.querySelector('#said').textContent")


def test_what_is_unlike_every_class_is_none_of_these(person: Person, tmp_path: Path) -> None:
    Image.new("RGB", (64, 64), "white").save(tmp_path / "white.jpg")
    person.goes_to("ask")
    person.drops("#ask .zone", [tmp_path / "white.jpg"])
    person.sees(".answer h2", "None of these")
    assert "unlike the photos of any class" in person.reads(".answer .why")


def test_a_photo_can_be_pasted(person: Person) -> None:
    person.goes_to("ask")
    person.browser.run("""
        const canvas = new OffscreenCanvas(32, 32);
        canvas.getContext("2d").fillRect(0, 0, 32, 32);
        const data = new DataTransfer();
        const picture = await canvas.convertToBlob();
        data.items.add(new File([picture], "pasted.png", { type: "image/png" }));
        document.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data }));
    """)
    person.sees(".answer", "pasted.png")


def test_a_wrong_answer_is_corrected_by_mouse_and_by_key(
    person: Person, shapes_folder: Path
) -> None:
    person.goes_to("ask")
    person.gives(CHOOSE, [shapes_folder / "square-r" / "2.png"])
    person.sees(".answer h2", "square-r")
    person.browser.click(".answer .names button:nth-of-type(1)")
    person.sees(".answer .good", "Moved 1 photo from square-r to square-g.")
    assert person.photos() == {"square-g": 11, "square-r": 9, "stripes-b": 10}
    person.gives(CHOOSE, [shapes_folder / "square-r" / "3.png"])
    person.browser.wait("return document.querySelectorAll('.answer').length === 2")
    person.sees(".answer h2", "square-r")
    person.browser.type("3")
    person.sees(".answer .good", "Moved 1 photo from square-r to stripes-b.")
    assert person.photos() == {"square-g": 11, "square-r": 8, "stripes-b": 11}


def test_another_name_makes_a_new_class(person: Person, shapes_folder: Path) -> None:
    person.goes_to("ask")
    person.gives(CHOOSE, [shapes_folder / "square-y" / "2.png"])
    person.sees(".answer h2")
    person.browser.press(".answer .another input", "12 suns" + ENTER)
    person.sees(".answer .good", "Learned as 12 suns.")
    assert person.photos()["12 suns"] == 1


def test_a_file_that_is_no_photo_is_told_beside_the_others(
    person: Person, shapes_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty.png").write_bytes(b"")
    person.goes_to("ask")
    person.gives(CHOOSE, [tmp_path / "empty.png", shapes_folder / "square-g" / "2.png"])
    person.sees("#ask > .bad", "empty.png")
    assert person.reads(".answer h2") == "square-g"


def test_the_webcam_is_answered_live_and_a_picture_of_it_corrected(person: Person) -> None:
    person.goes_to("ask")
    person.browser.click("#ask [data-part=start]")
    person.sees("#ask .live .hint", "answers a second")
    person.browser.run("""
        window.asked = 0;
        const real = window.fetch;
        window.fetch = (...given) => {
          window.asked += given[0].includes("predict");
          return real(...given);
        };
    """)
    person.browser.wait("return window.asked > 5")
    person.browser.click("#ask [data-part=keep]")
    person.sees(".answer", "webcam-")
    person.browser.click(".answer .names button:nth-of-type(2)")
    person.sees(".answer .good", "Learned as square-r.")
    person.browser.click("#ask [data-part=start]")
    person.browser.wait("return !document.querySelector('.live').checkVisibility()")
    assert person.browser.run("return document.querySelector('.live video').srcObject") is None


def test_the_review_queue_offers_the_least_sure_first(person: Person, shapes_folder: Path) -> None:
    person.goes_to("review")
    person.sees("#review", "Nothing waits.")
    photos = [shapes_folder / label / "4.png" for label in ("square-r", "stripes-b", "square-y")]
    person.drops("#review", photos)
    person.sees("#waiting", "3")
    asked = """
        const { waiting } = await import("/static/asked.js");
        return waiting().map(({ answer: { label, top } }) =>
          label === null ? -1 : top[0].probability - top[1].probability);
    """
    sure = person.browser.run(asked)
    assert sure == sorted(sure)
    first = person.sees("#review .answer h2")
    person.browser.wait("return document.activeElement.className.includes('answer')")
    person.browser.type("2")
    person.sees("#waiting", "2")
    person.browser.wait("return document.activeElement.className.includes('answer')")
    person.browser.click("#review [data-part=skip]")
    person.sees("#waiting", "1")
    person.browser.wait("return document.activeElement.className.includes('answer')")
    person.browser.type(ENTER)
    person.sees("#review", "Nothing waits.")
    assert first
    assert sum(person.photos().values()) in (30, 31)
