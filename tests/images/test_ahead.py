import io
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest
from PIL import Image

from clsnet.errors import ClsnetError
from clsnet.images import Images
from clsnet.images.ahead import MANY, read_ahead

N = 2 * MANY + 7


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    paths = [folder / f"{i}.png" for i in range(N)]
    for i, path in enumerate(paths):
        Image.new("RGB", (2, 2), (i % 256, i // 256, 0)).save(path)
    return paths


def parts(n, size=100):
    return [slice(start, start + size) for start in range(0, n, size)]


def test_parts_come_whole_and_in_order(paths):
    images = Images(paths)
    found = np.concatenate(list(read_ahead(images, parts(N))))
    np.testing.assert_array_equal(found, np.asarray(images))


def test_a_few_images_and_rows_in_any_order_are_read_too(paths):
    images = Images(paths[:10])
    rows = [np.array([3, 1]), np.array([9])]
    found = list(read_ahead(images, rows))
    assert [part[:, 0, 0, 0].tolist() for part in found] == [[3, 1], [9]]


def test_an_array_is_cut_and_not_copied():
    X = np.arange(10)
    assert all(np.shares_memory(part, X) for part in read_ahead(X, parts(10, 3)))


def test_a_worker_of_the_harness_reads_without_processes_of_its_own(paths):
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # a daemon, as there
        assert pool.apply(count, (paths,)) == N


def count(paths):
    return sum(len(part) for part in read_ahead(Images(paths), parts(N)))


def test_an_unreadable_image_is_named(paths, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"nothing")
    with pytest.raises(ClsnetError, match=r"broken\.png"):
        list(read_ahead(Images([*paths, broken]), parts(N + 1)))


def test_whoever_stops_early_leaves_no_process_behind(paths):
    stream = read_ahead(Images(paths), parts(N))
    next(stream)
    stream.close()
    assert multiprocessing.active_children() == []


READING = """
import sys, time
from pathlib import Path
import clsnet.images.ahead
from clsnet.images import Images
clsnet.images.ahead.os.cpu_count = lambda: 2
images = Images(sorted(Path(sys.argv[1]).iterdir()))
for part in clsnet.images.ahead.read_ahead(images, [slice(i, i + 1) for i in range(len(images))]):
    print("reading", flush=True)
    time.sleep(0.1)
"""


@pytest.fixture
def reading(paths):
    """A command that reads with processes of its own, as a terminal starts it."""
    process = subprocess.Popen(
        [sys.executable, "-c", READING, paths[0].parent],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "reading\n"
    yield process
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_ctrl_c_is_told_once(reading):
    os.killpg(reading.pid, signal.SIGINT)
    _, err = reading.communicate(timeout=30)
    assert err.count("Traceback") == 1  # that of this little program


def test_nobody_outlives_a_killed_parent(reading):
    reading.kill()
    reading.communicate(timeout=30)  # its pipes end with the last process


class Slow:
    """A photo that takes a while to read, and is too large to be worth a process."""

    name = "slow"

    def __init__(self, encoded):
        self.encoded = encoded
        self.n_read = 0

    def read(self):
        time.sleep(0.02)
        self.n_read += 1
        return self.encoded


def test_parts_are_read_while_others_are_used():
    random = np.random.default_rng(0)
    file = io.BytesIO()
    Image.fromarray(random.integers(0, 255, (128, 128, 3), dtype=np.uint8)).save(file, "BMP")
    slow = Slow(file.getvalue())
    images = Images([slow] * 16, size=8)
    assert not images.small
    stream = read_ahead(images, [slice(i, i + 1) for i in range(16)])
    next(stream)
    used = slow.n_read
    end = time.monotonic() + 10
    while slow.n_read == used and time.monotonic() < end:
        time.sleep(0.01)
    assert slow.n_read > used
    stream.close()
