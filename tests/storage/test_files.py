"""Files that are written whole, and what killed processes leave."""

import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest
import safetensors.numpy

from clsnet.errors import ClsnetError
from clsnet.storage.files import (
    COPY,
    copy_to_free_place,
    leftovers,
    move_to_free_place,
    sweep,
    write_atomically,
)
from clsnet.storage.regular_files import open_regular, read_regular
from clsnet.storage.tensors import as_bytes

KILLED = """
import os, signal, sys
from pathlib import Path
from clsnet.storage.files import write_atomically
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path(sys.argv[1]), b"half")
"""


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("mask", "wanted"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path, mask, wanted):
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "a", b"1")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == wanted


def test_a_file_keeps_its_mode(tmp_path):
    (tmp_path / "a").touch()
    (tmp_path / "a").chmod(0o640)
    write_atomically(tmp_path / "a", b"1")
    assert mode(tmp_path / "a") == 0o640


def test_the_umask_of_the_process_never_changes(tmp_path):
    """Of many files that other threads make meanwhile, none is open to all."""
    made, done = [], threading.Event()

    def work():
        while not done.is_set():
            path = tmp_path / f"other-{len(made)}"
            path.touch()
            made.append(mode(path))

    before = os.umask(0o077)
    thread = threading.Thread(target=work)
    try:
        thread.start()
        for _ in range(50):
            write_atomically(tmp_path / "a", b"1")
    finally:
        done.set()
        thread.join()
        os.umask(before)
    assert set(made) == {0o600}


def test_what_a_killed_process_left_is_swept_and_what_is_being_written_is_not(
    tmp_path, environment
):
    path = tmp_path / "a"
    done = subprocess.run([sys.executable, "-c", KILLED, path], env=environment)
    assert done.returncode == -9
    [left] = leftovers(path)
    assert left.read_bytes() == b"half"
    other = tmp_path / ".a.txt.01234567.tmp"
    other.touch()
    (tmp_path / ".a.89abcdef.tmp").symlink_to(other)
    swept_inside = []
    fsync = os.fsync

    def while_written(handle):
        swept_inside.append(len(leftovers(path)))
        sweep(path)
        fsync(handle)

    os.fsync = while_written
    try:
        write_atomically(path, b"whole")
    finally:
        os.fsync = fsync
    assert swept_inside[0] == 0  # it swept before it wrote, and its own is not left over
    assert path.read_bytes() == b"whole"
    assert {file.name for file in tmp_path.iterdir()} == {"a", other.name, ".a.89abcdef.tmp"}


def test_only_regular_files_of_a_bounded_size_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(bytes(11))
    for name, reason in (("pipe", "not a regular"), ("large", "11 bytes"), ("", "directory")):
        with pytest.raises(OSError, match=reason):
            open_regular(tmp_path / name, 10)
    assert read_regular(tmp_path / "large", 11) == bytes(11)


def test_a_folder_and_a_pipe_are_not_written_over(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "pipe", "Not a regular file")):
        with pytest.raises(ClsnetError, match=reason):
            write_atomically(path, b"")


def test_the_same_arrays_are_the_same_bytes():
    """In whatever order safetensors writes what is noted beside them."""
    arrays = {name: np.full((3, 2), i, np.float32) for i, name in enumerate("cab")}
    notes = {f"key {i}": f'"{i}" é \n' for i in range(20)}
    first = as_bytes(arrays, notes)
    assert {as_bytes(arrays, notes) for _ in range(10)} == {first}
    assert safetensors.numpy.load(first).keys() == arrays.keys()
    for name, array in safetensors.numpy.load(first).items():
        np.testing.assert_array_equal(array, arrays[name])


@pytest.mark.parametrize("put", [copy_to_free_place, move_to_free_place])
def test_nothing_is_written_over_what_is_there(tmp_path, put):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"new")
    for taken in ("file", "broken link", "folder"):
        if taken == "file":
            target.write_bytes(b"old")
        elif taken == "broken link":
            target.symlink_to(tmp_path / "nowhere")
        else:
            target.mkdir()
        with pytest.raises(FileExistsError):
            put(source, target)
        assert source.read_bytes() == b"new"
        assert sorted(file.name for file in tmp_path.iterdir()) == ["source", "target"]
        target.rmdir() if taken == "folder" else target.unlink()


@pytest.mark.parametrize("put", [copy_to_free_place, move_to_free_place])
def test_a_file_keeps_its_date_and_mode_at_its_new_place(tmp_path, put, monkeypatch):
    for links in (True, False):
        source, target = tmp_path / f"source-{links}", tmp_path / f"target-{links}"
        source.write_bytes(b"photo")
        source.chmod(0o640)
        os.utime(source, (1e9, 1e9))
        if not links:
            monkeypatch.setattr("pathlib.Path.hardlink_to", _no_links)
        put(source, target)
        assert target.read_bytes() == b"photo"
        assert (mode(target), target.stat().st_mtime) == (0o640, 1e9)
        assert source.exists() == (put is copy_to_free_place)


def _no_links(self, other):
    raise PermissionError(1, "Operation not permitted")


def test_a_file_that_cannot_be_removed_stays_where_it_is(public_folder, as_nobody):
    (public_folder / "closed").mkdir()
    (public_folder / "open").mkdir()
    source, target = public_folder / "closed" / "a", public_folder / "open" / "a"
    source.write_bytes(b"photo")
    source.chmod(0o666)
    (public_folder / "open").chmod(0o777)
    (public_folder / "closed").chmod(0o555)
    with as_nobody(), pytest.raises(PermissionError):
        move_to_free_place(source, target)
    assert source.read_bytes() == b"photo"
    assert not target.exists()
    (public_folder / "closed").chmod(0o755)


KILLED_COPY = """
import os, signal, sys
from pathlib import Path
from clsnet.storage.files import copy_to_free_place
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
copy_to_free_place(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_what_a_killed_copy_left_is_swept(tmp_path, environment):
    (tmp_path / "source").write_bytes(b"photo")
    words = [sys.executable, "-c", KILLED_COPY, tmp_path / "source", tmp_path / "target"]
    assert subprocess.run(words, env=environment).returncode < 0
    assert not (tmp_path / "target").exists()
    assert len(list(tmp_path.iterdir())) == 2
    sweep(tmp_path / COPY)
    assert [file.name for file in tmp_path.iterdir()] == ["source"]
