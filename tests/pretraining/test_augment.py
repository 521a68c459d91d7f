import math

import pytest
import torch

from clsnet.pretraining.augment import flipped, greyed, jittered, resized_crops, turned

ALL = {
    "crops": lambda images, random: resized_crops(images, random, side=12, smallest=0.3),
    "flips": flipped,
    "turns": lambda images, random: turned(images, random)[0],
    "colours": lambda images, random: jittered(images, random, strength=0.5),
    "greys": lambda images, random: greyed(images, random, chance=0.5),
}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def images():
    return torch.rand(40, 3, 12, 12, generator=generator(1))


@pytest.mark.parametrize("change", ALL.values(), ids=ALL)
def test_the_result_is_a_batch_of_images(images, change):
    before = images.clone()
    changed = change(images, generator())
    assert changed.shape == images.shape
    assert changed.dtype == images.dtype
    assert 0 <= changed.min() < changed.max() <= 1
    assert torch.equal(images, before)
    assert not torch.equal(changed, images)


@pytest.mark.parametrize("change", ALL.values(), ids=ALL)
def test_the_seed_alone_decides(images, change):
    once, again, other = (change(images, generator(seed)) for seed in (0, 0, 1))
    assert torch.equal(once, again)
    assert not torch.equal(once, other)


@pytest.mark.parametrize("name", ["crops", "colours"])
def test_every_image_gets_its_own_change(images, name):
    copies = images[:1].expand(40, -1, -1, -1)
    assert len({tuple(image.flatten().tolist()) for image in ALL[name](copies, generator())}) == 40


def test_half_of_the_images_are_mirrored():
    images = torch.rand(1000, 3, 2, 5, generator=generator(1))
    result = flipped(images, generator())
    mirrored = (result == images.flip(3)).flatten(1).all(dim=1)
    same = (result == images).flatten(1).all(dim=1)
    assert 450 < mirrored.sum() < 550
    assert torch.equal(same, ~mirrored)


def test_images_are_turned_counterclockwise_by_as_many_quarters_as_told():
    images = torch.rand(1000, 3, 5, 5, generator=generator(1))
    result, turns = turned(images, generator())
    assert turns.bincount(minlength=4).min() > 200
    assert turns.max() == 3
    for image, before, quarters in zip(result[:40], images[:40], turns[:40], strict=True):
        for _ in range(int(quarters)):
            literal = torch.empty_like(before)
            for row in range(5):
                for column in range(5):
                    literal[:, 4 - column, row] = before[:, row, column]
            before = literal
        assert torch.equal(image, before)


def test_crops_are_rectangles_of_the_wanted_area_and_shape():
    """On an image whose colours are the coordinates, a crop tells where it is from."""
    ramp = (torch.arange(64) + 0.5) / 64
    image = torch.stack([ramp.expand(64, 64), ramp[:, None].expand(64, 64), torch.zeros(64, 64)])
    crops = resized_crops(image.expand(500, -1, -1, -1), generator(), side=16, smallest=0.25)
    x, y = crops[:, 0], crops[:, 1]
    assert torch.allclose(x, x[:, :1].expand_as(x), atol=1e-5)
    assert torch.allclose(y, y[:, :, :1].expand_as(y), atol=1e-5)
    # Away from the border, where the nearest pixel is repeated, coordinates rise evenly.
    width, height = 16 / 7 * (x[:, 0, 11] - x[:, 0, 4]), 16 / 7 * (y[:, 11, 0] - y[:, 4, 0])
    area, ratio = width * height, width / height
    whole = (width > 0.999) | (height > 0.999)
    assert 0.2 < area.min() < 0.3
    assert 0.9 < area.max() < 1.01
    assert ((area > 0.249) | whole).all()
    assert (ratio > 3 / 4 - 0.01).all()
    assert (ratio < 4 / 3 + 0.01).all()
    assert ratio.log().mean().abs() < 0.05
    assert x[:, 0, 0].min() < 0.02
    assert x[:, 0, -1].max() > 0.98
    assert len(set(x[:, 0, 0].tolist())) > 400


def test_colours_change_as_written_out(images):
    changed = jittered(images, generator(), strength=0.4)
    random = generator()
    factors = [0.6 + 0.8 * torch.rand(40, generator=random) for _ in range(3)]
    for i, image in enumerate(images):
        saturation, contrast, brightness = (float(factor[i]) for factor in factors)
        grey = 0.299 * image[0] + 0.587 * image[1] + 0.114 * image[2]
        saturated = torch.stack([grey + saturation * (channel - grey) for channel in image])
        contrasted = grey.mean() + contrast * (saturated - grey.mean())
        literal = (brightness * contrasted).clamp(0, 1)
        torch.testing.assert_close(changed[i], literal, atol=1e-5, rtol=0)
    torch.testing.assert_close(jittered(images, generator(), strength=0.0), images)


def test_the_chance_is_that_of_losing_colour():
    images = torch.rand(1000, 3, 2, 2, generator=generator(1))
    result = greyed(images, generator(), chance=0.2)
    lost = (result[:, 0] == result[:, 2]).flatten(1).all(dim=1)
    assert math.isclose(lost.float().mean(), 0.2, abs_tol=0.04)
    assert torch.equal(result[~lost], images[~lost])
    weights = torch.tensor([0.299, 0.587, 0.114])[:, None, None]
    torch.testing.assert_close(result[lost][:, 1], (images[lost] * weights).sum(dim=1))
