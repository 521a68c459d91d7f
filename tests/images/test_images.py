import hashlib
import os
import pickle
import sys
import threading
import tracemalloc
from dataclasses import dataclass, field

import numpy as np
import pytest
from PIL import Image

from clsnet.errors import ClsnetError
from clsnet.images import Images, readable


@dataclass
class Counted:
    """A source that counts how often, and in how many threads, it is read."""

    contents: bytes
    name: str = "counted"
    reads: int = 0
    threads: set[int] = field(default_factory=set)

    def read(self) -> bytes:
        self.reads += 1
        self.threads.add(threading.get_ident())
        return self.contents


@pytest.fixture
def paths(tmp_path, put):
    return [put(tmp_path / f"{seed}.png", seed, 12, 8) for seed in range(100)]


def literal(paths) -> np.ndarray:
    return np.stack([np.asarray(Image.open(path)) for path in paths]).transpose(0, 3, 1, 2)


def test_images_look_like_an_array(paths):
    X = Images(paths)
    assert len(X) == 100 and X.shape == (100, 3, 8, 12)
    assert X.dtype == np.uint8 and X.ndim == 4
    pixels = np.asarray(X)
    assert pixels.dtype == np.uint8 and pixels.flags.c_contiguous and pixels.flags.writeable
    np.testing.assert_array_equal(pixels, literal(paths))
    assert "100 images" in repr(X)


@pytest.mark.parametrize(
    "index",
    [
        slice(3, 9),
        slice(None, None, -7),
        slice(5, 5),
        np.arange(100) % 3 == 0,
        np.zeros(100, bool),
        np.array([4, 4, -1, 0]),
        [7, 2],
        np.array([], int),
    ],
)
def test_indexing_gives_other_images_as_an_array_would(paths, index):
    X = Images([str(path) for path in paths])
    chosen = X[index]
    assert isinstance(chosen, Images)
    wanted = literal(paths)[index]
    assert chosen.shape == wanted.shape
    np.testing.assert_array_equal(np.asarray(chosen), wanted)
    np.testing.assert_array_equal(np.asarray(chosen[::2]), wanted[::2])
    assert len(X) == 100


def test_one_index_gives_one_image(paths):
    X, wanted = Images(paths), literal(paths)
    np.testing.assert_array_equal(X[3], wanted[3])
    np.testing.assert_array_equal(X[np.int64(-1)], wanted[-1])
    assert X[3].flags.writeable and X[3].flags.c_contiguous
    np.testing.assert_array_equal(np.stack(list(X[:5])), wanted[:5])
    with pytest.raises(IndexError):
        X[100]


@pytest.mark.parametrize("index", [None, (0, 0), (slice(None), 0), np.zeros((2, 2), int)])
def test_other_axes_cannot_be_indexed(paths, index):
    with pytest.raises(IndexError):
        Images(paths)[index]


def test_the_shape_reads_one_image_and_views_none(encoded):
    sources = [Counted(encoded(seed)) for seed in range(9)]
    X = Images(sources)
    X[np.arange(9) > 2][::-1]
    assert sum(source.reads for source in sources) == 0
    assert X.shape == X.shape == (9, 3, 16, 16)
    assert sum(source.reads for source in sources) == 1
    assert Images(sources, size=5).shape == (9, 3, 5, 5)
    assert sum(source.reads for source in sources) == 1


def test_only_what_is_asked_for_is_decoded(encoded):
    sources = [Counted(encoded(seed)) for seed in range(9)]
    np.asarray(Images(sources, size=16)[[1, 5]])
    assert [source.reads > 0 for source in sources] == [i in (1, 5) for i in range(9)]
    assert sum(source.reads for source in sources) <= 3  # the first also tells how large they are


def test_decoding_uses_the_cores(encoded):
    large = encoded(0, 700, 700, "BMP")
    sources = [Counted(large) for _ in range(64)]
    np.asarray(Images(sources, size=16))
    used = set().union(*(source.threads for source in sources[1:]))
    assert threading.get_ident() not in used
    assert min(2, os.cpu_count()) <= len(used) <= os.cpu_count()


def test_small_images_are_decoded_by_one_thread(encoded):
    """Several would only wait for each other."""
    sources = [Counted(encoded(0, 16, 16)) for _ in range(64)]
    np.asarray(Images(sources, size=16))
    assert len(set().union(*(source.threads for source in sources[1:]))) == 1
    assert Images(sources).small and Images([]).small
    assert not Images([Counted(encoded(0, 700, 700, "BMP"))]).small


def test_a_place_tells_images_in_memory_apart(paths):
    X, same_files = Images(paths), Images(paths)
    views = [X, X[1:], X[::-1], X[[3, 4]], X[[4, 3]], X[:0], same_files]
    assert len({view.place for view in views}) == len(views)
    assert X[2:9].place == X[2:][:7].place == X[np.arange(2, 9)].place
    assert hash(X.place) == hash(X[:].place)


def test_no_images(paths):
    assert Images([]).shape == (0, 3, 0, 0)
    assert np.asarray(Images([])).shape == (0, 3, 0, 0)
    assert np.asarray(Images(paths)[:0]).shape == (0, 3, 8, 12)
    assert Images([]).digests() == []
    mask, lines = readable(Images([]))
    assert mask.shape == (0,) and mask.dtype == bool and lines == []


def test_size_makes_squares_of_different_images(tmp_path, put):
    paths = [put(tmp_path / "a.png", 0, 30, 20), put(tmp_path / "b.jpg", 1, 20, 50)]
    assert np.asarray(Images(paths, size=10)).shape == (2, 3, 10, 10)
    for size in (0, -1):
        with pytest.raises(ClsnetError, match=f"size {size}: give 1 or more"):
            Images(paths, size=size)


def test_native_sizes_must_agree(tmp_path, put):
    paths = [put(tmp_path / "a.png", 0, 30, 20), put(tmp_path / "b.png", 1, 20, 50)]
    with pytest.raises(ClsnetError, match=r"b\.png and .*a\.png differ in size .20 x 50 and 30 x"):
        np.asarray(Images(paths))


def test_conversion_by_numpy(paths):
    X = Images(paths[:2])
    assert np.asarray(X, dtype=np.float32).dtype == np.float32
    assert np.array(X).shape == X.shape
    assert np.concatenate([X, X]).shape == (4, 3, 8, 12)
    with pytest.raises(ValueError, match="no array without a copy"):
        X.__array__(copy=False)


def test_images_travel_to_other_processes(paths):
    X = pickle.loads(pickle.dumps(Images(paths, size=4)[10:20]))
    np.testing.assert_array_equal(np.asarray(X), np.asarray(Images(paths[10:20], size=4)))


def test_digests_tell_contents_and_size(paths, tmp_path):
    digests = Images(paths).digests()
    assert all(isinstance(digest, bytes) and len(digest) == 24 for digest in digests)
    assert len(set(digests)) == 100
    assert Images(paths)[[7, 3]].digests() == [digests[7], digests[3]]
    copy = tmp_path / "elsewhere"
    copy.write_bytes(paths[5].read_bytes())
    assert Images([copy]).digests() == [digests[5]]
    others = [Images(paths[:1], size).digests()[0] for size in (None, 1, 12, 64)]
    assert len(set(others)) == 4 and others[0] == digests[0]


def test_digests_are_the_same_on_every_machine():
    rule = b"JPEG at twice the size or more, upright RGB on white, bicubic, centre square: 64"
    wanted = hashlib.blake2b(b"any bytes", digest_size=16).digest()
    wanted += hashlib.blake2b(rule, digest_size=8).digest()
    assert Images([Counted(b"any bytes")], size=64).digests() == [wanted]


def test_an_unreadable_image_is_named(paths):
    paths[40].write_bytes(paths[40].read_bytes()[:60])
    X = Images(paths)
    with pytest.raises(
        ClsnetError, match=r"cannot read the image .*/40\.png: .*; replace or remove"
    ):
        np.asarray(X)
    assert np.asarray(X[:40]).shape == (40, 3, 8, 12)
    with pytest.raises(ClsnetError, match=r"40\.png"):
        X[40]


@pytest.mark.parametrize("use", [np.asarray, Images.digests, lambda X: X.shape, lambda X: X[0]])
def test_a_missing_file_is_named(tmp_path, use):
    with pytest.raises(ClsnetError, match=r"cannot read the image .*/gone\.png: No such file"):
        use(Images([tmp_path / "gone.png"]))


def test_a_failure_ends_the_work(encoded):
    large = encoded(0, 200, 200)
    sources = [Counted(b"no image"), *(Counted(large) for _ in range(1000))]
    with pytest.raises(ClsnetError, match="counted: not an image"):
        np.asarray(Images(sources, size=8))
    assert sum(source.reads for source in sources) < 900


def test_readable_finds_every_broken_image(paths):
    paths[3].write_bytes(b"")
    paths[50].unlink()
    paths[98].write_bytes(paths[98].read_bytes()[:-30])
    X = Images(paths)
    mask, lines = readable(X)
    assert np.flatnonzero(~mask).tolist() == [3, 50, 98]
    for name, line in zip(("3", "50", "98"), lines, strict=True):
        assert line.startswith(f"cannot read the image {paths[0].parent}/{name}.png: ")
    assert np.asarray(X[mask]).shape == (97, 3, 8, 12)


def test_readable_allows_different_sizes(tmp_path, put):
    paths = [put(tmp_path / "a.png", 0, 30, 20), put(tmp_path / "b.png", 1, 20, 50)]
    mask, lines = readable(Images(paths))
    assert mask.tolist() == [True, True] and not lines


def test_strict_images_fail_at_the_first_broken_one(paths):
    for broken in (paths[3], paths[50]):
        broken.write_bytes(b"")
    with pytest.raises(ClsnetError, match=r"/3\.png"):
        readable(Images(paths, strict=True)[1:])


def test_without_pillow_no_image_is_blamed(paths, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    for use in (np.asarray, readable):
        with pytest.raises(ClsnetError, match=r"^reading images needs Pillow: pip install"):
            use(Images(paths, size=4))


def test_memory_holds_one_slice_and_no_more(tmp_path, put):
    path = put(tmp_path / "a.jpg", 0, 64, 64)

    def peak(n: int) -> int:
        X = Images([path] * n)
        tracemalloc.start()
        for start in range(0, n, 40):
            assert np.asarray(X[start : start + 40]).shape == (40, 3, 64, 64)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(40)
    few, many = peak(80), peak(800)
    assert few > 40 * 3 * 64 * 64
    assert many < 1.05 * few
    assert many < 2 * 40 * 3 * 64 * 64
