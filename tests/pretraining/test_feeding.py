import numpy as np
import pytest
import torch
from PIL import Image

from clsnet.data import Images
from clsnet.errors import ClsnetError
from clsnet.pretraining.feeding import Feed, room

CPU = torch.device("cpu")
PLENTY, NOTHING = 1 << 30, 0


def noise(*shape):
    return np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)


@pytest.fixture
def files(tmp_path):
    X = noise(9, 3, 8, 8)
    paths = [tmp_path / f"{i}.png" for i in range(len(X))]
    for image, path in zip(X, paths, strict=True):
        Image.fromarray(image.transpose(1, 2, 0)).save(path)
    return X, paths


def all_of(feed, order, size):
    parts = list(feed.batches(order, size))
    return [torch.cat(part) for part in zip(*parts, strict=True)], [len(y) for _, y in parts]


@pytest.mark.parametrize("space", [PLENTY, NOTHING])
def test_batches_follow_the_order(space):
    X, y = noise(50, 3, 8, 8), np.arange(50) % 7
    order = torch.randperm(50, generator=torch.Generator().manual_seed(0))
    (images, labels), sizes = all_of(Feed(X, y, 8, CPU, space), order, 8)
    assert sizes == [8, 8, 8, 8, 8, 8, 2]
    np.testing.assert_array_equal(images, X[order])
    np.testing.assert_array_equal(labels, y[order])


@pytest.mark.parametrize("size", [8, 5, 12])
def test_reading_ahead_gives_what_lies_in_memory(files, size):
    X, paths = files
    order = torch.tensor([4, 4, 0, 8, 3, 2, 1])
    y = np.arange(9)
    feeds = [Feed(X, y, size, CPU, PLENTY), Feed(X, y, size, CPU, NOTHING)]
    feeds += [Feed(Images(paths), y, size, CPU, space) for space in (PLENTY, NOTHING)]
    assert [feed.kept is None for feed in feeds] == [False, True, False, True]
    (expected, _), _ = all_of(feeds[0], order, 2)
    for feed in feeds[1:]:
        (images, labels), _ = all_of(feed, order, 2)
        assert torch.equal(images, expected)
        assert torch.equal(labels, order)
        assert feed.statistics() == feeds[0].statistics()


def test_room_is_counted_in_bytes_after_scaling():
    X, y = noise(10, 3, 8, 8), np.arange(10)
    need = 10 * 3 * 4 * 4
    assert Feed(X, y, 4, CPU, need).kept is not None
    assert Feed(X, y, 4, CPU, need - 1).kept is None
    assert room(CPU) > 1 << 20


def test_grey_images_get_three_equal_channels():
    X = noise(4, 8, 8)
    (images, _), _ = all_of(Feed(X, np.arange(4), 8, CPU, PLENTY), torch.arange(4), 3)
    for channel in range(3):
        np.testing.assert_array_equal(images[:, channel], X)


def test_the_square_in_the_centre_is_scaled():
    X = np.zeros((1, 3, 8, 20), np.uint8)
    X[..., 6:10], X[..., 10:14] = 50, 200
    X[:, 1] += 10
    (images, _), _ = all_of(Feed(X, np.zeros(1), 4, CPU, PLENTY), torch.arange(1), 1)
    assert images.shape == (1, 3, 4, 4)
    assert images[0, 0, 1].tolist()[::3] == pytest.approx([50, 200], abs=1)
    assert images[0, 1, 1].tolist()[::3] == pytest.approx([60, 210], abs=1)


def test_statistics_are_those_of_the_pixels():
    X = noise(30, 3, 8, 8)
    X[:, 2] //= 3
    mean, deviation = Feed(X, np.arange(30), 8, CPU, PLENTY).statistics()
    np.testing.assert_allclose(mean, X.mean(axis=(0, 2, 3)) / 255, rtol=1e-12)
    np.testing.assert_allclose(deviation, X.std(axis=(0, 2, 3)) / 255, rtol=1e-9)


def test_images_of_one_colour_can_be_normalised():
    _, deviation = Feed(np.full((2, 8, 8), 9, np.uint8), np.arange(2), 8, CPU, 0).statistics()
    assert min(deviation) > 0


def test_reading_is_reported():
    seen = []
    Feed(noise(1200, 2, 2), np.zeros(1200), 2, CPU, PLENTY, lambda *told: seen.append(told))
    assert seen == [("reading images", done, 1200) for done in (512, 1024, 1200)]


@pytest.mark.parametrize("space", [PLENTY, NOTHING])
def test_an_unreadable_image_is_named(files, space):
    _, paths = files
    paths[5].write_bytes(b"no image")
    with pytest.raises(ClsnetError, match=r"5\.png"):
        all_of(Feed(Images(paths, size=8), np.arange(9), 8, CPU, space), torch.arange(9), 2)


def test_a_feed_that_is_left_early_stops_reading():
    class Counted:
        shape = (1000, 3, 8, 8)
        small = False
        read = 0

        def __len__(self):
            return 1000

        def __getitem__(self, rows):
            self.read += 1
            return np.zeros((len(rows), 3, 8, 8), np.uint8)

    X = Counted()
    batches = Feed(X, np.zeros(1000), 8, CPU, NOTHING).batches(torch.arange(1000), 10)
    next(batches)
    del batches
    assert X.read < 10
