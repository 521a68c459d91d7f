"""correct, forget --photo, merge, test and sort, as commands."""

import json
import shutil
from pathlib import Path

import pytest

from clsnet.extractor import Patches
from clsnet.photos import learn


@pytest.fixture(scope="session")
def learned_apart(shapes_folder, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("apart")
    months = {
        "january": ("square-r", "stripes-g", "square-b"),
        "february": ("stripes-y", "square-g"),
    }
    for month, names in months.items():
        for name in names:
            shutil.copytree(shapes_folder / name, folder / month / name)
        learn(folder / f"{month}.clsnet", folder / month, backbone=Patches(filters=4, pool=2))
    return folder


@pytest.fixture
def here(learned_apart, tmp_path) -> Path:
    """A folder with january and february, and a model of each."""
    return Path(shutil.copytree(learned_apart, tmp_path / "here"))


def test_correct_says_what_moved_and_is_undone(run_warm, here):
    model, photo = here / "january.clsnet", here / "january" / "square-r" / "0.png"
    other = here / "february" / "square-g" / "0.png"
    done = run_warm("correct", model, photo, other, here / "january" / "square-b", "square-b")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        "Moved 1 photo from square-r to square-b.",
        "Learned 1 photo as square-b.",
        "10 photos were learned as square-b already.",
        f"Model: {model}",
    ]
    again = run_warm("correct", model, photo, "square-b")
    assert again.out.splitlines() == [
        "1 photo was learned as square-b already.",
        "Nothing to correct.",
    ]
    back = run_warm("undo", model).out
    assert back.startswith(
        "Undone: learned 1 photo of 1 class from here and moved 1 photo to another"
    )
    new = run_warm("correct", model, here / "january" / "square-r", "red", "--new")
    assert "square-r has no photos left and was removed.\n" in new.out
    assert "Undone: moved 10 photos to another class (" in run_warm("undo", model).out


def test_single_photos_are_forgotten(run_warm, here):
    model, folder = here / "january.clsnet", here / "january"
    done = run_warm(
        *("forget", model, "square-b", "--photo", folder / "square-r" / "0.png"),
        *("--photo", folder / "stripes-g"),
    )
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[:4] == [
        "Forgot square-b: 10 photos, its sums and its files' digests.",
        "Forgot 1 photo of square-r.",
        "Forgot 10 photos of stripes-g: the class has no photos left and was removed.",
        "1 class left: square-r.",
    ]
    assert run_warm("undo", model).out.startswith("Undone: forgot 2 classes and forgot 1 photo (")


def test_merge_says_what_came_together(run_warm, here):
    parts = here / "january.clsnet", here / "february.clsnet"
    out = here / "both.clsnet"
    done = run_warm("merge", *parts, "-o", out, "--rename", f"{parts[1]}:square-g=square-b")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        *("  square-b: 20 photos", "  square-r: 10 photos", "  stripes-g: 10 photos"),
        "  stripes-y: 10 photos",
        "Merged 2 models: 50 photos of 4 classes.",
        f"Model: {out}",
    ]
    shutil.copy(parts[0], here / "copy.clsnet")
    same = run_warm("merge", parts[0], here / "copy.clsnet", "-o", parts[0], "--overwrite")
    assert "30 photos learned by several of them; counted once." in same.out
    assert run_warm("undo", parts[0]).out.startswith("Undone: the last change (")


def test_test_tells_figures_and_writes_a_page(run_warm, here):
    model, folder = here / "january.clsnet", here / "january"
    shutil.copytree(here / "february" / "square-g", folder / "bird")
    (folder / "square-r" / "0.png").rename(folder / "square-b" / "moved.png")
    words = ("test", model, folder, "-o", here / "page.html")
    done = run_warm(*words)
    assert done.status == 0
    assert f"clsnet: the model has learned 30 photos of {folder}; on new photos" in done.err
    assert "bird is not a class of the model: " in done.out
    (folder / "bird").rename(folder / "squares-r")
    assert (
        "squares-r is not a class of the model (the nearest is square-r): " in run_warm(*words).out
    )
    (folder / "squares-r").rename(folder / "bird")
    assert f"{folder / 'square-b' / 'moved.png'}: square-b taken for square-r, " in done.out
    assert done.out.splitlines()[-1] == f"Page: {here / 'page.html'}"
    assert (here / "page.html").read_text().count("<img") >= 1
    told = json.loads(run_warm(*words, "--json").out)
    assert f"Accuracy: {told['accuracy']:.1%} ({told['right']} of 30 photos; 95 %" in done.out
    assert told["photos"] == sum(one["photos"] for one in told["classes"]) == 30
    assert told["unknown"][0]["class"] == "bird"
    assert sum(one["photos"] for one in told["confused"]) == len(told["mistakes"]) >= 1
    (folder / "square-r" / "1.png").write_bytes(b"no image")
    bad = run_warm(*words, "--json")
    assert (bad.status, len(json.loads(bad.out)["unreadable"])) == (1, 1)
    assert "clsnet: 1 photo could not be read." in bad.err


@pytest.mark.parametrize("columns", [20, 40, 60])
def test_figures_are_whole_in_a_narrow_terminal(run_clsnet, here, columns):
    model, folder = here / "january.clsnet", here / "january"
    photo, long = folder / "square-b" / "0.png", folder / ("r" * 47)
    (folder / "square-r").rename(long)
    assert run_clsnet("correct", model, long, long.name, "--new").status == 0
    tested = run_clsnet("test", model, folder, COLUMNS=str(columns)).out
    asked = run_clsnet("predict", model, photo, "--reject", 0, "--top", 2, COLUMNS=str(columns)).out
    for printed, header in ((tested, "none of these"), (asked, "probability")):
        assert "…" not in printed
        assert header in printed
    assert tested.count("100.0%") >= 2
    assert asked.count("%") == 2


def test_sort_shows_does_and_undoes(run_warm, here):
    model, folder, out = here / "january.clsnet", here / "january", here / "sorted"
    words = ("sort", model, folder, "--into", out, "--reject", 0)
    shown = run_warm(*words)
    assert (shown.status, shown.err) == (0, "")
    assert f"  {folder / 'square-r' / '0.png'} -> {out / 'square-r' / '0.png'} (" in shown.out
    assert "Would copy 10 photos to " in shown.out
    assert shown.out.splitlines()[-1] == "Nothing was done yet; add --go to do it."
    assert not out.exists()
    done = run_warm(*words, "--go")
    assert done.out.splitlines()[-1] == f"clsnet sort --undo {out} puts everything back."
    assert len(list(out.rglob("*.png"))) == 30
    again = run_warm(*words, "--go")
    assert again.out.splitlines() == ["There already: 30 photos.", "Nothing to sort."]
    assert run_warm("sort", "--undo", out).out == "Removed 30 copies.\n"
    (folder / "square-r" / "1.png").write_bytes(b"no image")
    moved = run_warm(*words, "--move", "--go")
    assert moved.status == 1
    assert "clsnet: 1 photo left in place." in moved.err
    assert [path.name for path in folder.rglob("*.png")] == ["1.png"]
    assert run_warm("sort", "--undo", out).out == "Moved 29 photos back.\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("correct", "january.clsnet", "january", "squarer"),
            "nearest is 'square-r'; --new creates",
        ),
        (("correct", "january.clsnet", "none.png", "square-r"), "there is no photo or folder"),
        (("correct", "none.clsnet", "january", "square-r"), "there is no model"),
        (("forget", "january.clsnet", "--photo", "february"), "19 other photos were not learned"),
        (("forget", "january.clsnet", "squarer"), "the nearest is 'square-r'"),
        (("merge", "january.clsnet", "january.clsnet", "-o", "x"), "is given twice"),
        (("merge", "january.clsnet", "-o", "x.clsnet"), "name two models or more"),
        (("merge", "january.clsnet", "february.clsnet", "-o", "january.clsnet"), "is one of the"),
        (
            ("merge", "january.clsnet", "february.clsnet", "-o", "x", "--rename", "a=b"),
            "write MODEL:OLD=NEW",
        ),
        (("test", "january.clsnet", "none"), "cannot read the folder"),
        (("test", "january.clsnet", "january", "-o", "january.clsnet"), "not the name of a page"),
        (("sort", "january.clsnet", "january"), "name a model, photos to sort, and a folder"),
        (("sort", "january.clsnet", "january", "--into", "january"), "what is to be sorted"),
        (("sort", "--undo", "january", "--go"), "and nothing else"),
        (("sort", "--undo", "january"), "nothing was sorted into"),
    ],
)
def test_errors_are_one_line_and_change_nothing(run_warm, here, arguments, line):
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    names = {"january", "february", "none", "none.png", "x"}
    placed = [here / a if a in names or a.endswith(".clsnet") else a for a in arguments]
    done = run_warm(*placed)
    assert done.status == 2
    assert done.err.startswith("clsnet: ")
    assert line in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before
