from pathlib import Path

import numpy as np
import pytest

from clsnet.data import Images, load_folder, load_sequence
from clsnet.errors import ClsnetError

PETS = ("cat", "dog", "emu")


@pytest.fixture
def pets(tmp_path, put) -> Path:
    for i, pet in enumerate(PETS):
        for j in range(10):
            put(tmp_path / f"pets/{pet}/{j}.png", 10 * i + j)
    return tmp_path / "pets"


@pytest.fixture
def split(tmp_path, put) -> Path:
    for i, pet in enumerate(PETS):
        for j in range(3):
            put(tmp_path / f"split/train/{pet}/{j}.png", 10 * i + j)
        put(tmp_path / f"split/test/{pet}/0.png", 50 + i)
    return tmp_path / "split"


def test_a_fifth_of_each_class_is_the_test_part(pets):
    data = load_folder(pets)
    assert data.name == "folder-pets" and data.class_names == PETS and data.skipped == ()
    assert isinstance(data.X_train, Images) and isinstance(data.X_test, Images)
    assert data.X_train.shape == (24, 3, 16, 16) and data.X_test.shape == (6, 3, 16, 16)
    assert data.y_train.tolist() == [0] * 8 + [1] * 8 + [2] * 8
    assert data.y_test.tolist() == [0, 0, 1, 1, 2, 2] and data.y_test.dtype == np.int64
    digests = data.X_train.digests() + data.X_test.digests()
    assert sorted(digests) == sorted(Images(list(pets.rglob("*.png"))).digests())
    for label, pet in enumerate(PETS):
        own = set(Images(list((pets / pet).iterdir())).digests())
        assert set(data.X_train[data.y_train == label].digests()) < own
        assert set(data.X_test[data.y_test == label].digests()) < own


def test_the_split_is_always_the_same_and_a_new_class_changes_no_other(pets, put):
    before = load_folder(pets)
    assert load_folder(pets).X_test.digests() == before.X_test.digests()
    for j in range(4):
        put(pets / f"bee/{j}.png", 200 + j)
    after = load_folder(pets)
    assert after.class_names == ("bee", *PETS) and np.bincount(after.y_test).tolist() == [
        1,
        2,
        2,
        2,
    ]
    assert after.X_test[1:].digests() == before.X_test.digests()


def test_train_and_test_folders_are_used(split):
    data = load_folder(split)
    assert data.class_names == PETS
    assert data.y_train.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2] and data.y_test.tolist() == [
        0,
        1,
        2,
    ]
    wanted = Images([split / f"test/{pet}/0.png" for pet in PETS])
    np.testing.assert_array_equal(np.asarray(data.X_test), np.asarray(wanted))


def test_any_ending_any_depth_nothing_hidden(pets, put, encoded):
    before = len(load_folder(pets).X_train) + len(load_folder(pets).X_test)
    formats = {"JPG": "JPEG", "Jpeg": "JPEG", "WebP": "WEBP", "gif": "GIF", "BMP": "BMP"}
    formats |= {"tif": "TIFF", "TIFF": "TIFF", "PNG": "PNG"}
    for i, (ending, format) in enumerate(formats.items()):
        path = pets / f"cat/more/of them/{i}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(300 + i, format=format))
    put(pets / "cat/.hidden.png")
    put(pets / "cat/.thumbnails/1.png")
    put(pets / ".trash/1.png")
    put(pets / "loose.png")
    (pets / "cat/notes.txt").write_text("no image")
    data = load_folder(pets)
    assert data.class_names == PETS and data.skipped == ()
    assert len(data.X_train) + len(data.X_test) == before + len(formats)


def test_different_sizes_become_224(pets, put):
    put(pets / "dog/10.png", 77, 30, 20)
    data = load_folder(pets)
    assert data.X_train.shape[1:] == data.X_test.shape[1:] == (3, 224, 224)
    assert np.asarray(data.X_test[:2]).shape == (2, 3, 224, 224)


def test_unreadable_images_are_left_out_and_named(pets):
    (pets / "cat/0.png").write_bytes(b"")
    (pets / "emu/3.png").write_bytes((pets / "emu/3.png").read_bytes()[:-40])
    data = load_folder(pets)
    assert len(data.X_train) + len(data.X_test) == 28
    assert len(data.skipped) == 2
    assert "cat/0.png: not an image" in data.skipped[0] and "emu/3.png: " in data.skipped[1]
    assert np.asarray(data.X_train).shape == (len(data.y_train), 3, 16, 16)


def test_strict_fails_at_the_first_unreadable_image(pets):
    for name in ("cat/0.png", "emu/3.png"):
        (pets / name).write_bytes(b"")
    with pytest.raises(ClsnetError, match=r"cannot read the image .*cat/0\.png"):
        load_folder(pets, strict=True)
    with pytest.raises(ClsnetError, match=r"cannot read the image .*cat/0\.png"):
        load_sequence(f"folder:{pets}/3", strict=True)


def test_a_first_image_that_is_not_there_is_left_out_like_any_other(pets):
    (pets / "cat/0.png").unlink()
    (pets / "cat/0.png").symlink_to("nowhere")
    [line] = load_folder(pets).skipped
    assert "cat/0.png: No such file or directory" in line


def test_progress_counts_images(pets):
    steps = []
    load_folder(pets, report=lambda *step: steps.append(step))
    assert steps == [("checking pets", done, 30) for done in range(1, 31)]


def test_a_class_needs_two_images(pets, put):
    put(pets / "fox/0.png")
    with pytest.raises(ClsnetError, match=r"pets/fox holds 1 readable images: a class needs 2"):
        load_folder(pets)
    put(pets / "fox/1.png", 1)
    assert load_folder(pets).class_names == (*PETS, "fox")
    (pets / "gnu").mkdir()
    with pytest.raises(ClsnetError, match="pets/gnu holds 0 readable images"):
        load_folder(pets)


def test_a_class_needs_images_in_both_folders(split, put):
    put(split / "test/fox/0.png")
    with pytest.raises(ClsnetError, match="split/train/fox holds no readable image"):
        load_folder(split)
    put(split / "train/fox/0.png")
    assert "fox" in load_folder(split).class_names
    (split / "test/cat/0.png").write_bytes(b"broken")
    with pytest.raises(ClsnetError, match="split/test/cat holds no readable image"):
        load_folder(split)


def test_a_folder_without_classes_or_no_folder(tmp_path):
    with pytest.raises(ClsnetError, match=r"cannot read the folder .*nowhere: No such file"):
        load_folder(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ClsnetError, match="empty holds no folders: make one for each class"):
        load_folder(tmp_path / "empty")
    (tmp_path / "file").touch()
    with pytest.raises(ClsnetError, match=r"cannot read the folder .*file: Not a directory"):
        load_folder(tmp_path / "file")


def test_sequences_of_a_folder(pets, monkeypatch):
    sequence = load_sequence(f"folder:{pets}/3")
    assert sequence.name == "folder-pets-3/3" and sequence.n_classes == 3
    assert not Path(sequence.name).is_absolute()
    tasks = sequence.tasks(sequence.order(0, 0))
    assert [len(task.X_train) for task in tasks] == [8, 8, 8]
    assert all(isinstance(task.X_train, Images) for task in tasks)
    assert load_sequence(sequence.spec).name == sequence.name
    monkeypatch.chdir(pets.parent)
    for name in ("folder:pets/1", "Folder:./pets//1", "folder:pets/../pets/1"):
        assert load_sequence(name).name == "folder-pets-3/1"
    monkeypatch.chdir(pets)
    assert load_sequence("folder:./1").name == "folder-pets-3/1"
    assert load_sequence("folder:pets/3", root=pets.parent).name == "folder-pets-3/3"
    monkeypatch.setenv("HOME", str(pets.parent))
    assert load_sequence("folder:~/pets/3").name == "folder-pets-3/3"


def test_odd_folder_names_are_usable_paths(pets):
    odd = pets.rename(pets.parent / "my: pets & Käfer*")
    assert load_sequence(f"folder:{odd}/3").name == "folder-my-pets-Käfer--3/3"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("/6", "3 classes are too few for 6 tasks"),
        ("", "is not a sequence: write .* or folder:PATH/T"),
        ("/0", "is not a sequence"),
        ("/x", "is not a sequence"),
    ],
)
def test_sequences_that_cannot_be(pets, end, reason):
    (pets / "cat/0.png").write_bytes(b"unreadable, but not looked at")
    with pytest.raises(ClsnetError, match=reason):
        load_sequence(f"folder:{pets}{end}")


def test_a_folder_is_known_by_its_files_wherever_it_lies(pets, put):
    known = load_folder(pets).folder
    moved = pets.with_name("elsewhere")
    pets.rename(moved)
    assert load_folder(moved).folder == known
    put(moved / "cat/new.png", 1)
    assert load_folder(moved).folder != known
