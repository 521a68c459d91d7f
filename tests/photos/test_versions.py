import os
import threading
import time

import filelock
import pytest

from clsnet.errors import ClsnetError
from clsnet.photos.versions import changing
from clsnet.storage import locks


def test_a_lock_leaves_nothing_behind(tmp_path):
    with changing(tmp_path / "m"):
        assert [path.name for path in tmp_path.iterdir()] == [".m.lock"]
    assert list(tmp_path.iterdir()) == []


def test_a_second_writer_waits_and_says_so(tmp_path):
    order, said = [], []
    with changing(tmp_path / "m"):

        def second():
            with changing(tmp_path / "m", said.append):
                order.append("second")

        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.3)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert said == [f"another process is changing {tmp_path / 'm'}: waiting for it."]


def test_a_second_writer_gives_up_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "WAIT_SECONDS", 0.2)
    with (
        changing(tmp_path / "m"),
        pytest.raises(ClsnetError, match="another process is changing"),
        changing(tmp_path / "m"),
    ):
        pass


def test_of_many_writers_only_one_is_in_at_a_time(tmp_path):
    inside, most = [], []

    def work():
        for _ in range(5):
            with changing(tmp_path / "m"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.002)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 20


def test_a_lock_that_was_removed_while_it_was_opened_guards_nothing(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    lock, plain, removed = tmp_path / ".m.lock", fcntl.flock, []

    def flock(descriptor, operation):
        if not removed:
            removed.append(lock.unlink())  # by the process that had it before
        return plain(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with changing(tmp_path / "m"):
        assert removed
        assert lock.exists()


def test_the_lock_of_the_next_writer_stays(tmp_path, monkeypatch):
    plain = filelock.FileLock.release

    def release(lock, **options):
        if lock.is_locked:
            (tmp_path / ".m.lock").touch()  # by the next writer: ours is removed by now
        return plain(lock, **options)

    monkeypatch.setattr(filelock.FileLock, "release", release)
    with changing(tmp_path / "m"):
        pass
    assert (tmp_path / ".m.lock").exists()


def test_the_lock_of_a_killed_process_is_no_obstacle(tmp_path):
    (tmp_path / ".m.lock").touch()
    with changing(tmp_path / "m"):
        pass


def test_a_read_only_file_and_a_folder_are_refused(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(ClsnetError, match="it is read-only"), changing(path):
        pass
    with pytest.raises(ClsnetError, match="it is a folder"), changing(tmp_path):
        pass
    with pytest.raises(ClsnetError, match="No such file"), changing(tmp_path / "no" / "m"):
        pass


def test_a_lock_that_is_a_link_is_refused_and_makes_no_file(tmp_path):
    (tmp_path / ".m.lock").symlink_to(tmp_path / "elsewhere")
    line = r"its lock .*\.m\.lock is a symbolic link"
    with pytest.raises(ClsnetError, match=line), changing(tmp_path / "m"):
        pass
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
def test_a_lock_of_another_user_is_told_at_once(public_folder, as_nobody):
    public_folder.chmod(0o777)
    lock = public_folder / ".m.lock"
    lock.touch(0o600)
    start = time.monotonic()
    line = "belongs to the user root"
    with as_nobody(), pytest.raises(ClsnetError, match=line), changing(public_folder / "m"):
        pass
    assert time.monotonic() - start < 5
    assert lock.exists()
