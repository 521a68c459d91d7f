import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

from clsnet.errors import ClsnetError
from clsnet.extractor import Augmentation, Extractor, Identity
from clsnet.extractor.backbones.convolution import Map
from clsnet.extractor.backbones.network import Network
from clsnet.extractor.backbones.tapped import TappedGraph
from clsnet.extractor.cache import AT_ONCE, FeatureCache, digests
from clsnet.images import Images

CPU = "cpu"
SIDE = 12


def keys(numbers):
    return [int(number).to_bytes(16, "big") for number in numbers]


class Counting:
    """Computes rows, and writes down which."""

    def __init__(self, numbers, width=5):
        self.numbers = np.asarray(numbers)
        self.width = width
        self.asked = []

    def __call__(self, missing):
        self.asked += self.numbers[missing].tolist()
        return literal(self.numbers[missing], self.width)


def literal(numbers, width=5):
    return np.asarray(numbers, np.float32)[:, None] / np.arange(3, 3 + width, dtype=np.float32)


def never(missing):
    raise AssertionError(f"{len(missing)} rows are computed again")


# -------------------------------------------------------------------------------- rows


def test_rows_come_back_to_the_bit_and_are_computed_once(tmp_path):
    numbers = np.random.default_rng(0).permutation(2 * AT_ONCE + 7)
    compute = Counting(numbers)
    cache = FeatureCache(tmp_path, "n")
    np.testing.assert_array_equal(cache.rows(keys(numbers), compute), literal(numbers))
    assert compute.asked == numbers.tolist()
    some = numbers[::-3]
    for again in (cache, FeatureCache(tmp_path, "n")):
        rows = again.rows(keys(some), never)
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows, literal(some))


def test_only_what_is_missing_is_computed(tmp_path):
    cache = FeatureCache(tmp_path, "n")
    cache.rows(keys([1, 3]), Counting([1, 3]))
    compute = Counting([0, 1, 2, 3, 4])
    np.testing.assert_array_equal(cache.rows(keys(range(5)), compute), literal(range(5)))
    assert compute.asked == [0, 2, 4]


def test_the_same_sample_twice_is_the_same_row_twice(tmp_path):
    cache = FeatureCache(tmp_path, "n")
    numbers = [7, 8, 7, 7]
    np.testing.assert_array_equal(cache.rows(keys(numbers), Counting(numbers)), literal(numbers))
    np.testing.assert_array_equal(cache.rows(keys([7]), never), literal([7]))


def test_rows_that_could_not_be_computed_leave_nothing_behind(tmp_path):
    cache = FeatureCache(tmp_path, "n")
    with pytest.raises(AssertionError, match="2 rows"):
        cache.rows(keys([1, 2]), never)
    compute = Counting([1, 2])
    cache.rows(keys([1, 2]), compute)
    assert compute.asked == [1, 2]


def test_folders_are_made_and_networks_have_files_of_their_own(tmp_path):
    one, other = (FeatureCache(tmp_path / "a/b", name) for name in ("one", "other"))
    one.rows(keys([1]), Counting([1]))
    compute = Counting([1], width=2)
    assert other.rows(keys([1]), compute).shape == (1, 2)
    assert compute.asked == [1]
    found = sorted(path.name for path in (tmp_path / "a/b").iterdir())
    assert found == ["one.features", "other.features"]


# --------------------------------------------------------------------- other processes

WRITER = """
import sys
from pathlib import Path
import numpy as np
from clsnet.extractor.cache import FeatureCache

start, stop, step = map(int, sys.argv[2:5])
cache = FeatureCache(Path(sys.argv[1]), "n")
print("ready", flush=True)
for first in range(start, stop, step):
    numbers = np.arange(first, first + step)
    made = numbers.astype(np.float32)[:, None] / np.arange(3, 8, dtype=np.float32)
    keys = [int(number).to_bytes(16, "big") for number in numbers]
    cache.rows(keys, lambda missing: made[missing])
print("done")
"""


def writer(folder, *span):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), *map(str, span)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_that_write_at_once_lose_nothing(tmp_path):
    """Their rows overlap, so they also write the same ones."""
    writers = [writer(tmp_path, start, start + 600, 20) for start in (0, 300)]
    for process in writers:
        out, err = process.communicate(timeout=60)
        assert out == "ready\ndone\n", err
    rows = FeatureCache(tmp_path, "n").rows(keys(range(900)), never)
    np.testing.assert_array_equal(rows, literal(range(900)))


def test_a_killed_writer_leaves_a_usable_file(tmp_path):
    for delay in (0.0, 0.03, 0.1):
        process = writer(tmp_path, 0, 10**6, 50)
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    cache = FeatureCache(tmp_path, "n")
    compute = Counting(range(5000))
    np.testing.assert_array_equal(cache.rows(keys(range(5000)), compute), literal(range(5000)))
    assert len(compute.asked) < 5000
    np.testing.assert_array_equal(cache.rows(keys(range(5000)), never), literal(range(5000)))


# -------------------------------------------------------------------------------- damage


def complaint(call, path):
    with pytest.raises(ClsnetError) as refusal:
        call()
    assert "\n" not in str(refusal.value)
    assert str(path) in str(refusal.value)
    return str(refusal.value)


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "n.features"
    path.write_text("features of my own\n" * 200)
    said = complaint(lambda: FeatureCache(tmp_path, "n"), path)
    assert "not a database" in said and "remove the file" in said
    assert path.read_text() == "features of my own\n" * 200


def test_a_damaged_file_is_one_line(tmp_path):
    numbers = range(3000)
    FeatureCache(tmp_path, "n").rows(keys(numbers), Counting(numbers))
    path = tmp_path / "n.features"
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    cache = FeatureCache(tmp_path, "n")
    assert "malformed" in complaint(lambda: cache.rows(keys(numbers), Counting(numbers)), path)
    path.write_bytes(whole[: len(whole) // 2])
    assert "remove the file" in complaint(
        lambda: FeatureCache(tmp_path, "n").rows(keys(numbers), Counting(numbers)), path
    )


def test_a_database_of_something_else_is_one_line(tmp_path):
    path = tmp_path / "n.features"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE features (colour TEXT)")
    database.close()
    cache = FeatureCache(tmp_path, "n")
    assert "no such column" in complaint(lambda: cache.rows(keys([1]), Counting([1])), path)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file/below"):
        assert "cannot keep features" in complaint(lambda f=folder: FeatureCache(f, "n"), folder)


def test_an_unwritable_folder_is_one_line(public_folder, as_nobody):
    closed, below = public_folder / "closed", public_folder / "closed" / "below"
    closed.mkdir(mode=0o555)
    with as_nobody():
        first = complaint(lambda: FeatureCache(closed, "n"), closed)
        second = complaint(lambda: FeatureCache(below, "n"), below)
    assert first.startswith(f"cannot use the features in {closed}/n.features: unable to open")
    assert second == f"cannot keep features in {below}: Permission denied."


# ------------------------------------------------------------------- what a sample is


def test_digests_of_arrays_tell_values_kinds_and_shapes():
    X = np.random.default_rng(0).integers(0, 256, (6, 3, 4, 4), dtype=np.uint8)
    found = digests(X)
    assert len(set(found)) == 6 and all(len(digest) == 16 for digest in found)
    assert digests(X[::-1]) == found[::-1]
    assert digests(np.asfortranarray(X)) == found
    others = [X + np.uint8(1), X.astype(np.int16), X.reshape(6, 3, 16), X.transpose(0, 1, 3, 2)]
    assert all(set(digests(other)).isdisjoint(found) for other in others)


# ------------------------------------------------------------------------ the extractor


class TappedTiny(TappedGraph):
    def write_maps(self, graph, x):
        weights = graph.constant(self.state["weight"])
        found = graph.node("Conv", x.value, weights, kernel_shape=[3, 3])
        return [Map(found, 6, x.side - 2)]


class Tiny(Network):
    """A network that writes down how many images it is given."""

    name = "tiny"

    def __init__(self, seed=0, taps="several", views=2):
        weight = np.random.RandomState(seed).uniform(-0.3, 0.3, (6, 3, 3, 3)).astype(np.float32)
        tapped = TappedTiny({"weight": weight}, taps)
        super().__init__(tapped, SIDE, (0.5,) * 3, (0.25,) * 3, views)
        self.seed = seed
        self.given = 0

    def transform(self, X):
        self.given += len(X)
        return super().transform(X)


def extractor(cache=None, backbone=None, connection="Z", **options):
    augmentation = Augmentation(connection, groups=2, group_size=4, **options)
    return Extractor(backbone or Tiny(), augmentation, 0, cache)


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (90, 3, SIDE, SIDE), dtype=np.uint8)


@pytest.fixture
def paths(tmp_path, pixels):
    """The same images in files."""
    (tmp_path / "images").mkdir()
    paths = [tmp_path / f"images/{i}.png" for i in range(len(pixels))]
    for path, image in zip(paths, pixels, strict=True):
        Image.fromarray(image.transpose(1, 2, 0)).save(path)
    return paths


@pytest.mark.parametrize("lazy", [False, True], ids=["array", "images"])
@pytest.mark.parametrize("connection", ["Z", "G", "G*", "A", "Z+G"])
def test_features_are_the_same_with_a_cache_and_without(tmp_path, pixels, paths, lazy, connection):
    X = Images(paths) if lazy else pixels
    plain = extractor(connection=connection).fit(X[:40], CPU)
    cold = extractor(tmp_path / "c", connection=connection).fit(X[:40], CPU)
    warm = extractor(tmp_path / "c", connection=connection).fit(X[:40], CPU)
    expected = plain.transform(X)
    for one in (cold, cold, warm):
        np.testing.assert_allclose(one.transform(X), expected, rtol=1e-6, atol=1e-6)
    assert warm.backbone.given == 0
    assert cold.dimension == plain.dimension == expected.shape[1]


@pytest.mark.parametrize("lazy", [False, True], ids=["array", "images"])
def test_the_network_sees_each_image_once(tmp_path, pixels, paths, lazy):
    X = Images(paths) if lazy else pixels
    first = extractor(tmp_path / "c").fit(X, CPU)
    for rows in (slice(0, 50), slice(30, 90), slice(None)):
        first.transform(X[rows])
    assert first.backbone.given == 90
    other = extractor(tmp_path / "c", connection="Z+G", weights="scaled").fit(X, CPU)
    assert other.transform(X[::-1]).shape == (90, 12 + 1 + 8)
    assert other.backbone.given == 0


def test_rows_belong_to_their_images_in_whatever_order(tmp_path, pixels):
    g = extractor(tmp_path).fit(pixels[:1], CPU)
    g.transform(pixels[10:30])
    order = np.random.default_rng(1).permutation(90)
    expected = extractor().fit(pixels[:1], CPU).transform(pixels)[order]
    np.testing.assert_allclose(g.transform(pixels[order]), expected, rtol=1e-6, atol=1e-6)


def test_networks_taps_and_views_have_files_of_their_own(tmp_path, pixels):
    backbones = [
        Tiny(), Tiny(seed=1), Tiny(taps="last"), Tiny(taps="many"), Tiny(views=1)
    ]  # fmt: skip
    for backbone in backbones:
        g = extractor(tmp_path, backbone).fit(pixels[:1], CPU)
        expected = extractor(None, backbone).fit(pixels[:1], CPU).transform(pixels[:5])
        np.testing.assert_allclose(g.transform(pixels[:5]), expected, rtol=1e-6, atol=1e-6)
    assert len(list(tmp_path.glob("*.features"))) == 5


def test_a_changed_image_file_is_extracted_anew(tmp_path, paths, pixels):
    g = extractor(tmp_path / "c").fit(pixels[:1], CPU)
    before = g.transform(Images(paths)).copy()
    Image.fromarray(255 - pixels[7].transpose(1, 2, 0)).save(paths[7])
    given = g.backbone.given
    after = g.transform(Images(paths))
    assert g.backbone.given == given + 1
    changed = (before != after).any(axis=1)
    assert np.flatnonzero(changed).tolist() == [7]
    plain = extractor().fit(pixels[:1], CPU)
    expected = plain.transform(255 - pixels[7:8])
    np.testing.assert_allclose(after[7:8], expected, rtol=1e-6, atol=1e-6)


def test_images_of_another_size_are_other_images(tmp_path, paths):
    g = extractor(tmp_path / "c").fit(Images(paths)[:1], CPU)
    whole, small = (g.transform(Images(paths, size=size)) for size in (None, 6))
    assert not np.array_equal(whole, small)
    assert g.backbone.given == 2 * len(paths)


def test_a_backbone_that_is_no_network_keeps_nothing(tmp_path):
    g = extractor(tmp_path / "c", Identity()).fit(np.eye(4), CPU)
    assert g.transform(np.eye(4)).shape == (4, 5)
    assert not (tmp_path / "c").exists()


def test_a_copy_of_an_extractor_uses_the_same_file(tmp_path, pixels):
    g = extractor(tmp_path).fit(pixels[:1], CPU)
    g.transform(pixels)
    again = g.refitted(pixels[5:9], CPU)
    given = again.backbone.given
    assert np.array_equal(again.transform(pixels), g.transform(pixels))
    assert again.backbone.given == given
    assert os.listdir(tmp_path) == [f"{g.backbone.fingerprint}.features"]  # noqa: PTH208


# ------------------------------------------------------------------------------ damaged


@pytest.mark.parametrize(
    "row",
    [
        b"",
        b"abc",
        "text",
        17,
        None,
        b"\0" * 16,
        b"\0" * 24,
        np.full(5, np.nan, np.float32).tobytes(),
    ],
    ids=["empty", "odd", "text", "number", "null", "short", "long", "nan"],
)
def test_a_damaged_row_is_one_line_or_made_anew(tmp_path, row):
    cache = FeatureCache(tmp_path, "n")
    cache.rows(keys(range(4)), Counting(range(4)))
    with sqlite3.connect(cache.path) as database:
        database.execute("UPDATE features SET row = ? WHERE key = ?", (row, keys([2])[0]))
    database.close()
    try:
        np.testing.assert_array_equal(
            cache.rows(keys(range(4)), Counting(range(4))), literal(range(4))
        )
    except ClsnetError as error:
        assert "holds a damaged row; remove the file" in str(error)
        assert "\n" not in str(error)
