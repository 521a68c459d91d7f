import json
import os
import socket
import sys
import unicodedata

import pytest

from clsnet.errors import ClsnetError
from clsnet.images.endings import missing
from clsnet.photos.finding import find, photos_below


def put(path, contents=b""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents or str(path).encode())
    return path


def labels(found):
    return [(photo.label, photo.path.name) for photo in found.photos]


def test_nested_folders_any_case_and_odd_names_are_found(tmp_path):
    put(tmp_path / "cat" / "2024" / "may" / "A.JPG")
    put(tmp_path / "cat" / "b.Jfif")
    put(tmp_path / "new [line]\n dog" / "ü 100%.jpeg")
    put(tmp_path / "cat" / "notes.txt")
    assert labels(find(tmp_path)) == [
        ("cat", "A.JPG"),
        ("cat", "b.Jfif"),
        ("new [line]\n dog", "ü 100%.jpeg"),
    ]


def test_names_that_are_no_text_are_found(tmp_path):
    place = os.fsencode(tmp_path) + b"/cat\xff"
    os.mkdir(place)  # noqa: PTH102
    with open(place + b"/\xfe.png", "wb") as file:  # noqa: PTH123
        file.write(b"a")
    [photo] = find(tmp_path).photos
    assert os.fsencode(photo.label) == b"cat\xff"


def test_hidden_files_and_folders_are_left_out_and_told(tmp_path):
    put(tmp_path / "cat" / "a.jpg")
    put(tmp_path / "cat" / ".DS_Store")
    put(tmp_path / ".profile")
    assert find(tmp_path).warnings == []
    put(tmp_path / "cat" / "._a.jpg")
    hidden = tmp_path.resolve() / "cat" / "._a.jpg"
    assert find(tmp_path).warnings == [f"{hidden} begins with a dot, so it is hidden: left out"]
    put(tmp_path / "cat" / ".thumbs" / "b.jpg")
    put(tmp_path / ".net" / "c.jpg")
    found = find(tmp_path)
    assert labels(found) == [("cat", "a.jpg")]
    first = tmp_path.resolve() / ".net"
    assert found.warnings == [
        f"3 names begin with a dot, such as {first}, so they are hidden: left out"
    ]


@pytest.fixture
def closed(tmp_path):
    """A folder of photos with folders that may not be read."""
    for name in ("cat/a.jpg", "cat/kittens/b.jpg", "dog/c.jpg"):
        put(tmp_path / name)
    for name in ("cat/kittens", "dog"):
        (tmp_path / name).chmod(0)
    yield tmp_path
    for name in ("cat/kittens", "dog"):
        (tmp_path / name).chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="folders are closed to others than the user")
def test_a_folder_that_cannot_be_read_is_told(closed):
    found, refused = as_nobody(closed)
    assert found == [
        f"cannot read the folder {closed / 'cat/kittens'}: Permission denied",
        f"cannot read the folder {closed / 'dog'}: Permission denied",
        "there is no photo in the folder dog (Permission denied)",
    ]
    assert refused == f"cannot read the folder {closed / 'cat/kittens'}: Permission denied."


def as_nobody(folder):
    """Return what is told of a folder to a user without special rights."""
    for place in (folder, *folder.parents[:-2]):
        place.chmod(place.stat().st_mode | 0o055)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:
            os.setuid(65534)
        try:
            list(photos_below(folder))
        except ClsnetError as error:
            told = [find(folder).warnings, str(error)]
            os.write(writer, json.dumps(told).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return json.loads(pipe.read())


def test_accents_name_one_class_however_they_are_encoded(tmp_path):
    put(tmp_path / unicodedata.normalize("NFC", "café") / "a.jpg")
    put(tmp_path / unicodedata.normalize("NFD", "café") / "b.jpg")
    assert {photo.label for photo in find(tmp_path).photos} == {"café"}


def test_the_same_photo_is_found_once_in_a_class_and_in_every_class(tmp_path):
    for path in ("cat/a.jpg", "cat/b.jpg", "dog/c.jpg"):
        put(tmp_path / path, b"same")
    assert labels(find(tmp_path)) == [("cat", "a.jpg"), ("dog", "c.jpg")]


def test_links_are_followed_only_inside_their_class(tmp_path):
    secret = put(tmp_path / "private" / "secret.jpg")
    photos = tmp_path / "photos"
    put(photos / "cat" / "a.jpg")
    put(photos / "cat" / "more" / "b.jpg")
    (photos / "cat" / "out.jpg").symlink_to(secret)
    (photos / "cat" / "outside").symlink_to(secret.parent)
    (photos / "away").symlink_to(secret.parent)
    (photos / "alias").symlink_to(photos / "cat")
    (photos / "cat" / "loop").symlink_to(photos / "cat")
    (photos / "cat" / "again.jpg").symlink_to(photos / "cat" / "more" / "b.jpg")
    (photos / "dog").mkdir()
    (photos / "dog" / "up").symlink_to("..")
    (photos / "dog" / "other.jpg").symlink_to(photos / "cat" / "a.jpg")
    (photos / "dog" / "self.jpg").symlink_to("self.jpg")
    put(photos / "dog" / "c.jpg")
    found = find(photos)
    assert labels(found) == [("cat", "a.jpg"), ("cat", "again.jpg"), ("dog", "c.jpg")]
    [line] = found.warnings
    assert line.startswith("6 symbolic links lead out of their class's folder, such as ") or (
        line.startswith("7 symbolic links")  # newer Pythons resolve a link to itself
    )
    assert secret not in photos_below(photos)


def test_only_regular_files_of_a_bounded_size_are_photos(tmp_path):
    put(tmp_path / "cat" / "a.jpg")
    os.mkfifo(tmp_path / "cat" / "b.jpg")
    with (tmp_path / "cat" / "c.jpg").open("wb") as file:
        file.truncate(300 * 10**9)
    (tmp_path / "cat" / "d.jpg").symlink_to("/dev/zero")
    (tmp_path / "cat" / "e.jpg").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(tmp_path)
        server.bind("cat/f.jpg")
    found = find(tmp_path)
    assert labels(found) == [("cat", "a.jpg")]
    assert [line.removeprefix(f"cannot read {tmp_path}/cat/") for line in found.unreadable] == [
        "b.jpg: not a regular file",
        "c.jpg: its 300,000,000,000 bytes are more than 268,435,456",
        "f.jpg: not a regular file",
    ]


def test_a_broken_link_is_reported(tmp_path):
    put(tmp_path / "cat" / "a.jpg")
    (tmp_path / "cat" / "b.jpg").symlink_to(tmp_path / "cat" / "gone.jpg")
    found = find(tmp_path)
    assert labels(found) == [("cat", "a.jpg")]
    assert found.unreadable == [
        f"cannot read {tmp_path / 'cat' / 'b.jpg'}: No such file or directory"
    ]


def test_photos_in_no_class_are_told(tmp_path):
    put(tmp_path / "cat" / "a.jpg")
    put(tmp_path / "stray.jpg")
    assert find(tmp_path).warnings == [
        "1 photo lies beside the classes' folders, not in one: left out"
    ]


@pytest.fixture
def no_readers(monkeypatch):
    """Neither HEIC nor camera raw files can be read."""
    for package in ("pillow_heif", "rawpy"):
        monkeypatch.setitem(sys.modules, package, None)
    missing.cache_clear()
    yield
    missing.cache_clear()


def test_photos_that_nothing_installed_reads_are_counted_by_class(tmp_path, no_readers):
    put(tmp_path / "cat" / "a.jpg")
    put(tmp_path / "cat" / "b.NEF")
    for i in range(12):
        put(tmp_path / "dog" / "raw" / f"{i}.CR2")
    put(tmp_path / "dog" / "a.jxl")
    found = find(tmp_path)
    assert labels(found) == [("cat", "a.jpg")]
    assert found.warnings == [
        "cat: 1 .nef file was not read; pip install 'clsnet[formats]'",
        "dog: 12 .cr2 files were not read; pip install 'clsnet[formats]'",
        "dog: 1 .jxl file was not read; convert it to JPEG",
        "there is no photo in the folder dog (only .cr2, .jxl files)",
    ]
    assert len(list(photos_below(tmp_path))) == 14  # predict says of each why


def test_photos_of_phones_and_cameras_are_found_if_they_can_be_read(tmp_path):
    names = ["a.avif", "b.HEIC", "c.cr3", "d.jpe", "e.dng", "f.webp", "g.tiff"]
    for name in names:
        put(tmp_path / "cat" / name)
    found = find(tmp_path)
    told = sum(int(line.split()[1]) for line in found.warnings)
    assert len(found.photos) + told == len(names)
    assert len(found.photos) >= 3


def test_files_that_are_no_photos_are_told_in_one_line(tmp_path):
    put(tmp_path / "cat" / "a.jpg")
    put(tmp_path / "cat" / "notes.txt")
    assert find(tmp_path).warnings == ["1 file is no photo (.txt): left out"]
    put(tmp_path / "cat" / "more" / "README")
    put(tmp_path / "dog" / "a.xmp")
    put(tmp_path / "dog" / "a.png")
    assert find(tmp_path).warnings == ["3 files are no photos (.txt, .xmp, nameless): left out"]


def test_folders_that_bring_nothing_are_named_in_one_line(tmp_path):
    put(tmp_path / "photos" / "ant" / "a.jpg")
    put(tmp_path / "photos" / "bee" / "a.txt")
    put(tmp_path / "outside.jpg")
    for name in ("cow", "dog", "elk", "fox"):
        (tmp_path / "photos" / name).mkdir()
    (tmp_path / "photos" / "dog" / "a.jpg").symlink_to("gone.jpg")
    (tmp_path / "photos" / "elk" / "a.jpg").symlink_to(tmp_path / "outside.jpg")
    found = find(tmp_path / "photos")
    assert labels(found) == [("ant", "a.jpg")]
    assert found.warnings[-1] == (
        "there is no photo in 5 folders: bee (only .txt files), cow (no readable file), "
        "dog (no readable file) and 2 more"
    )
    for name in ("bee", "cow", "dog", "fox"):
        for file in (tmp_path / "photos" / name).iterdir():
            file.unlink()
        (tmp_path / "photos" / name).rmdir()
    assert find(tmp_path / "photos").warnings[-1] == (
        "there is no photo in the folder elk (only links that are not followed)"
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [("none", "No such file"), ("file", "Not a directory"), ("empty", "no folders")],
)
def test_a_folder_without_classes_is_refused(tmp_path, name, line):
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(ClsnetError, match=line):
        find(tmp_path / name)
