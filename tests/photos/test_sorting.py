import errno
import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from clsnet.errors import ClsnetError
from clsnet.photos import correct, predict, sort, unsort
from clsnet.photos.folder_names import folder_names
from clsnet.photos.journal import NAME


@pytest.fixture
def inbox(january, tmp_path):
    """Thirty photos in one folder, with a date of their own, one unreadable and a text."""
    place = tmp_path / "inbox"
    for photo in sorted(january.rglob("*.png")):
        (place / photo.parent.name[-1]).mkdir(parents=True, exist_ok=True)
        shutil.copy(photo, place / photo.parent.name[-1] / photo.name)
    (place / "bad.png").write_bytes(b"no image")
    (place / "notes.txt").write_text("left alone")
    for file in place.rglob("*.png"):
        os.utime(file, (1e9, 1e9))
    return place


def files(folder):
    """Return all files below a folder with their contents."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def photos_in(folder):
    """Count contents of photos."""
    return Counter(data for name, data in files(folder).items() if name.endswith(".png"))


def complaint(call):
    with pytest.raises(ClsnetError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --------------------------------------------------------------------------------- sorting


def test_a_dry_run_tells_and_does_nothing(model, inbox, tmp_path):
    before = files(inbox)
    plan = sort(model, [inbox], tmp_path / "sorted")
    assert (len(plan.photos), plan.done, len(plan.left)) == (30, False, 1)
    assert "bad.png: not an image" in plan.left[0]
    assert not (tmp_path / "sorted").exists()
    assert files(inbox) == before


@pytest.mark.parametrize("move", [False, True])
def test_photos_come_into_the_folder_of_their_class_and_back(model, inbox, tmp_path, move):
    before, out = files(inbox), tmp_path / "a" / "sorted"
    answers = {one.path.resolve(): one.label for one in predict(model, [inbox])}
    plan = sort(model, [inbox], out, move=move)
    done = sort(model, [inbox], out, move=move, go=True)
    assert (done.photos, done.done, done.moved) == (plan.photos, True, move)
    for photo in done.photos:
        assert photo.target.parent == out.resolve() / (answers[photo.source] or "unsure")
        assert photo.target.stat().st_mtime == 1e9
    assert photos_in(out) == Counter(
        data for name, data in before.items() if name not in ("bad.png", "notes.txt")
    )
    left = {"bad.png", "notes.txt"} if move else before.keys()
    assert files(inbox).keys() == left
    back = unsort(out)
    assert (back.back, back.removed, back.kept) == ((30, 0, []) if move else (0, 30, []))
    assert files(inbox) == before
    assert list(out.iterdir()) == []
    assert "nothing was sorted into" in complaint(lambda: unsort(out))


def test_taken_names_get_a_number_and_nothing_is_overwritten(model, inbox, tmp_path):
    out = tmp_path / "sorted"
    (out / "square-r").mkdir(parents=True)
    (out / "square-r" / "1.PNG").write_bytes(b"mine")
    done = sort(model, [inbox], out, go=True, reject=0)
    assert (out / "square-r" / "1.PNG").read_bytes() == b"mine"
    names = [photo.target.name for photo in done.photos if photo.target.parent.name == "square-r"]
    assert len({name.lower() for name in names}) == len(names)
    assert any(name == "1 (2).png" for name in names)
    unsort(out)
    assert files(out) == {"square-r/1.PNG": b"mine"}


def test_what_was_copied_before_is_not_copied_again(model, inbox, tmp_path):
    out = tmp_path / "sorted"
    sort(model, [inbox], out, go=True)
    again = sort(model, [inbox], out, go=True)
    assert (again.photos, again.known) == ([], 30)
    first = next(out.rglob("*.png"))
    first.unlink()
    assert len(sort(model, [inbox], out, go=True).photos) == 1
    assert unsort(out).removed == 1
    assert unsort(out).removed == 29
    assert "nothing was sorted into" in complaint(lambda: unsort(out))


def test_each_photo_is_sorted_once_and_links_stay(model, inbox, tmp_path):
    (inbox / "link.png").symlink_to(inbox / "r" / "0.png")
    plan = sort(model, [inbox, inbox / "r", inbox / "r" / "0.png"], tmp_path / "sorted", reject=0)
    assert len(plan.photos) == 30
    assert any("link.png is a symbolic link: left where it is" in line for line in plan.left)


def test_a_folder_beside_the_classes_can_be_sorted_into_them(model, inbox, tmp_path):
    """As ``clsnet sort MODEL photos/inbox --into photos``."""
    done = sort(model, [inbox / "r"], inbox, move=True, go=True, reject=0)
    assert len(done.photos) == 10
    again = sort(model, [inbox / "square-r"], inbox, move=True, go=True, reject=0)
    assert (again.photos, again.known) == ([], 10)
    unsort(inbox)
    assert len(list((inbox / "r").iterdir())) == 10


def test_classes_whose_names_are_no_names_of_folders(model, january, inbox, tmp_path):
    correct(model, [january / "square-r"], "../../etc/cron: *", new=True)
    correct(model, [january / "square-b"], "unsure", new=True)
    done = sort(model, [inbox], tmp_path / "sorted", go=True, reject=0)
    assert {photo.target.parent.name for photo in done.photos} >= {"_.._etc_cron_ _", "unsure (2)"}
    assert {file.parent.parent for file in (tmp_path / "sorted").rglob("*.png")} == {
        tmp_path / "sorted"
    }


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["a/b", "a\\b", "A_b"], ["a_b", "a_b (2)", "A_b (3)"]),
        (
            ["..", ".", "", " ", "..."],
            ["class", "class (2)", "class (3)", "class (4)", "class (5)"],
        ),
        ([".hidden", "CON", "nul.txt", "x. ."], ["hidden", "class CON", "class nul.txt", "x"]),
        (["é" * 200, "\x1b[31m"], ["é" * 50, "_[31m"]),
    ],
)
def test_names_of_folders_are_safe_and_told_apart(labels, names):
    assert list(folder_names(labels).values()) == names


# ---------------------------------------------------------------------------- putting back


def test_what_changed_meanwhile_is_kept_and_told(model, inbox, tmp_path):
    out = tmp_path / "sorted"
    done = sort(model, [inbox], out, go=True, reject=0)
    edited, bereft, gone = done.photos[:3]
    edited.target.write_bytes(b"edited")
    bereft.source.unlink()
    gone.target.unlink()
    back = unsort(out)
    assert back.removed == 27
    assert sorted(back.kept) == sorted(
        [
            f"{edited.target} stays: it was changed",
            f"{bereft.target} stays: its original {bereft.source} is gone or changed",
        ]
    )
    assert edited.target.read_bytes() == b"edited"
    assert bereft.target.exists()
    assert "or it was undone already" in complaint(lambda: unsort(out))


def test_a_moved_photo_waits_until_its_old_place_is_free(model, inbox, tmp_path):
    out = tmp_path / "sorted"
    done = sort(model, [inbox], out, move=True, go=True, reject=0)
    first = done.photos[0]
    first.source.write_bytes(b"another")
    back = unsort(out)
    assert (back.back, len(back.kept)) == (29, 1)
    assert f"there is another file at {first.source}" in back.kept[0]
    assert first.target.exists()
    first.source.unlink()
    shutil.rmtree(inbox)
    assert unsort(out).back == 1
    assert first.source.exists()


@pytest.mark.parametrize(
    "edit",
    [
        lambda run: run["photos"].append(["/tmp/x.png", "../x.png", "0"]),
        lambda run: run["photos"].append(["/tmp/x.png", "/etc/x.png", "0"]),
        lambda run: run["photos"].append(["/tmp/x.png", "a/b/x.png", "0"]),
        lambda run: run["photos"].append(["/root/.ssh/authorized_keys", "a/x.png", "0"]),
        lambda run: run["photos"].append(["x.png", "a/x.png", "0"]),
        lambda run: run["folders"].append(".."),
        lambda run: run.pop("date"),
    ],
)
def test_a_journal_of_anybody_moves_nothing_but_photos(model, inbox, tmp_path, edit):
    out = tmp_path / "sorted"
    sort(model, [inbox], out, move=True, go=True)
    journal = json.loads((out / NAME).read_text())
    edit(journal["sorted"][0])
    (out / NAME).write_text(json.dumps(journal))
    before = files(out)
    assert "is damaged or no journal" in complaint(lambda: unsort(out))
    assert files(out) == before


def test_a_link_in_the_sorted_folder_leads_nowhere(model, inbox, january, tmp_path):
    out = tmp_path / "sorted"
    sort(model, [inbox], out, move=True, go=True, reject=0)
    shutil.move(out / "square-r", tmp_path / "elsewhere")
    (out / "square-r").symlink_to(tmp_path / "elsewhere")
    back = unsort(out)
    assert back.back == 30 - len(list((tmp_path / "elsewhere").iterdir()))
    assert "leads out of" in complaint(lambda: sort(model, [january], out, reject=0))


# ------------------------------------------------------------------------------- bad input


def test_sorting_into_what_is_read_is_refused(model, inbox, tmp_path):
    before = files(inbox)
    for into in (inbox, inbox / "sorted", inbox / "r" / ".." / "x"):
        assert "what is to be sorted" in complaint(lambda into=into: sort(model, [inbox], into))
    (tmp_path / "link").symlink_to(inbox)
    for call in (
        lambda: sort(model, [inbox], tmp_path / "link" / "sorted", go=True),
        lambda: sort(model, [tmp_path / "link"], inbox, go=True),
    ):
        assert "what is to be sorted" in complaint(call)
    line = complaint(lambda: sort(model, [inbox / "r" / "0.png"], inbox / "r", go=True))
    assert "lies in" in line
    assert files(inbox) == before


def test_files_in_the_way(model, inbox, tmp_path):
    (tmp_path / "file").write_text("x")
    assert "is a file: name a folder" in complaint(lambda: sort(model, [inbox], tmp_path / "file"))
    (tmp_path / "sorted").mkdir()
    (tmp_path / "sorted" / "square-r").write_text("x")
    line = complaint(lambda: sort(model, [inbox], tmp_path / "sorted", go=True, reject=0))
    assert "square-r is a file: a folder is needed there" in line
    assert files(tmp_path / "sorted") == {"square-r": b"x"}
    assert "there is no photo or folder" in complaint(
        lambda: sort(model, [tmp_path / "none"], tmp_path / "sorted")
    )


def in_one_folder(rename):
    """Return a renaming that fails between folders, as between disks."""

    def careful(self, other):
        if self.parent != Path(other).parent:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return rename(self, other)

    return careful


@pytest.mark.parametrize("move", [False, True])
def test_a_full_disk_stops_it_and_all_can_be_put_back(model, inbox, tmp_path, full_disk, move):
    """The journal fits, one of the photos does not; a move across disks copies."""
    out, before = tmp_path / "sorted", files(inbox)
    large = inbox / "z" / "z.png"
    large.parent.mkdir()
    large.write_bytes(before["r/0.png"] + bytes(200_000))
    before = files(inbox)
    with full_disk(100_000), pytest.MonkeyPatch.context() as patch:
        for name in ("hardlink_to", "rename"):
            patch.setattr(Path, name, in_one_folder(getattr(Path, name)))
        line = complaint(lambda: sort(model, [inbox], out, move=move, go=True, reject=0))
    assert "File too large; 30 of 31 photos were sorted" in line
    assert f"clsnet sort --undo {out.resolve()} puts them back" in line
    assert large.exists()
    assert photos_in(inbox) + photos_in(out) >= Counter(
        data for name, data in before.items() if name.endswith(".png")
    )
    unsort(out)
    assert files(inbox) == before


def test_a_photo_that_cannot_be_moved_is_named(model, january, public_folder, as_nobody):
    inbox, out = (public_folder / name for name in ("inbox", "sorted"))
    shutil.copytree(january / "square-r", inbox)
    for path in inbox.iterdir() if os.geteuid() == 0 else ():
        os.chown(path, 65534, -1)  # a file of one's own, in a folder that cannot be written
    shutil.copy(model, public_folder / "m.clsnet")
    public_folder.chmod(0o777)
    inbox.chmod(0o555)
    before = files(inbox)
    with as_nobody():
        line = complaint(
            lambda: sort(public_folder / "m.clsnet", [inbox], out, move=True, go=True, reject=0)
        )
        assert "nothing was sorted into" in complaint(lambda: unsort(out))
    inbox.chmod(0o755)
    first = (inbox / "0.png").resolve()
    assert line == f"cannot move {first}: Permission denied; 0 of 10 photos were sorted."
    assert files(inbox) == before
    assert [path for path in out.iterdir() if path.is_dir()] == []


def test_an_interruption_says_how_many_were_sorted(model, inbox, tmp_path, monkeypatch):
    """Ctrl-C while the second photo is put into its place."""
    out, rename, before = tmp_path / "sorted", Path.hardlink_to, files(inbox)
    placed = []

    def stopped(self, other):
        if len(placed) == 1:
            raise KeyboardInterrupt
        placed.append(self)
        rename(self, other)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as caught:
        patch.setattr(Path, "hardlink_to", stopped)
        sort(model, [inbox], out, move=True, go=True, reject=0)
    assert str(caught.value) == (
        f"1 of 30 photos were sorted, and clsnet sort --undo {out.resolve()} puts them back."
    )
    assert unsort(out).back == 1
    assert files(inbox) == before


def test_a_disk_without_room_for_the_journal(model, inbox, tmp_path, full_disk):
    before = files(inbox)
    with full_disk(100):
        line = complaint(lambda: sort(model, [inbox], tmp_path / "out", move=True, go=True))
    assert "cannot write" in line
    assert files(inbox) == before
    assert files(tmp_path / "out") == {}
