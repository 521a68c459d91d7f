import io
import struct
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, features

from clsnet.errors import ClsnetError
from clsnet.images.decode import FORMATS, Unreadable, decode

ORIENTATION = 0x0112


def stored(image: Image.Image, format: str = "PNG", **options) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def pixel(image: Image.Image, **options) -> list[int]:
    return decode(stored(image, **options))[:, 0, 0].tolist()


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "GIF", "JPEG", "WEBP"])
def test_every_format_gives_the_same_colours(picture, format):
    if format == "WEBP" and not features.check("webp"):
        pytest.skip("this Pillow knows no WebP")
    image = picture(0, 24, 16)
    pixels = decode(stored(image, format))
    assert pixels.dtype == np.uint8 and pixels.shape == (3, 16, 24)
    wanted = np.asarray(image).transpose(2, 0, 1).astype(int)
    lossless = format in ("PNG", "BMP", "TIFF")
    assert abs(pixels - wanted).mean() <= (0 if lossless else 8)


def test_greys_bits_and_palettes():
    assert pixel(Image.new("L", (2, 2), 77)) == [77, 77, 77]
    assert pixel(Image.new("1", (2, 2), 1)) == [255, 255, 255]
    palette = Image.new("P", (2, 2), 1)
    palette.putpalette([0, 0, 0, 10, 20, 30])
    assert pixel(palette) == [10, 20, 30]
    assert pixel(Image.new("CMYK", (2, 2), (0, 255, 255, 0)), format="TIFF") == [255, 0, 0]


@pytest.mark.parametrize(("grey", "wanted"), [(0, 0), (257 * 99, 99), (65535, 255), (300, 1)])
@pytest.mark.parametrize("format", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_clipped(grey, wanted, format):
    image = Image.fromarray(np.full((2, 2), grey, np.uint16))
    assert pixel(image, format=format) == [wanted] * 3


def test_greys_of_unknown_range_are_refused():
    for value, reason in ((np.float32(0.5), "floats"), (np.int32(70_000), "more than 16 bits")):
        with pytest.raises(Unreadable, match=reason):
            decode(stored(Image.fromarray(np.full((2, 2), value)), "TIFF"))


def test_what_is_transparent_becomes_white():
    assert pixel(Image.new("RGBA", (2, 2), (200, 0, 0, 0))) == [255, 255, 255]
    assert pixel(Image.new("RGBA", (2, 2), (200, 0, 100, 255))) == [200, 0, 100]
    half = pixel(Image.new("RGBA", (2, 2), (0, 0, 0, 128)))
    assert half == [127, 127, 127]
    assert pixel(Image.new("LA", (2, 2), (0, 0))) == [255, 255, 255]
    assert pixel(Image.new("RGB", (2, 2), (1, 2, 3)), transparency=(1, 2, 3)) == [255, 255, 255]
    palette = Image.new("P", (2, 2), 1)
    palette.putpalette([0, 0, 0, 10, 20, 30])
    assert pixel(palette, transparency=1) == [255, 255, 255]
    assert pixel(palette, transparency=bytes([255, 0])) == [255, 255, 255]
    assert pixel(palette, format="GIF", transparency=1) == [255, 255, 255]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_images_are_turned_upright(orientation, format):
    if format == "WEBP" and not features.check("webp"):
        pytest.skip("this Pillow knows no WebP")
    upright = np.zeros((16, 32, 3), np.uint8)
    upright[:8, :8] = 255
    back = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright, 1),
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    turned = Image.fromarray(np.ascontiguousarray(back[orientation]))
    pixels = decode(stored(turned, format, exif=exif))
    assert pixels.shape == (3, 16, 32)
    assert abs(pixels[0].astype(int) - upright[..., 0]).mean() < 4


def test_the_first_frame_is_taken():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    animated = stored(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert decode(animated)[:, 0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize(("width", "height"), [(40, 30), (30, 40), (33, 33), (50, 7), (7, 50)])
@pytest.mark.parametrize("size", [7, 24, 60])
def test_size_scales_the_smaller_side_then_cuts_the_centre_out(picture, width, height, size):
    image = picture(1, width, height)
    scale = size / min(width, height)
    wide, high = round(width * scale), round(height * scale)
    left, top = (wide - size) // 2, (high - size) // 2
    scaled = image.resize((wide, high), Image.Resampling.BICUBIC)
    wanted = np.asarray(scaled.crop((left, top, left + size, top + size))).transpose(2, 0, 1)
    pixels = decode(stored(image), size)
    assert pixels.shape == (3, size, size)
    assert abs(pixels.astype(int) - wanted).mean() < 3


@pytest.mark.parametrize("shape", [(90, 160), (160, 90), (97, 301), (301, 98)])
def test_the_square_is_that_of_two_passes_over_the_whole_image(picture, shape):
    image, size, side = picture(2, *shape), 24, min(shape)
    left, top = ((length - side) / 2 for length in shape)
    bicubic = Image.Resampling.BICUBIC
    narrow = image.resize((size, image.height), bicubic, box=(left, 0, left + side, image.height))
    wanted = narrow.resize((size, size), bicubic, box=(0, top, size, top + side))
    np.testing.assert_array_equal(
        decode(stored(image), size), np.asarray(wanted).transpose(2, 0, 1)
    )


@pytest.mark.parametrize(
    ("width", "height", "reduced"), [(383, 300, False), (301, 385, False), (900, 420, True)]
)
def test_only_a_large_jpeg_is_decoded_at_less_than_its_size(picture, width, height, reduced):
    jpeg = stored(picture(3, width, height), "JPEG", quality=90)
    found = decode(jpeg, 96).astype(int)
    full = decode(stored(Image.open(io.BytesIO(jpeg))), 96)
    assert (found != full).any() == reduced
    assert abs(found - full).mean() < 0.5
    assert abs(found - full).max() < 10
    assert decode(jpeg).shape == (3, height, width)


@pytest.mark.parametrize("orientation", [3, 6])
def test_a_large_jpeg_is_turned_upright(picture, orientation):
    image = picture(4, 200, 150)
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    turned = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_270}[orientation]
    found = decode(stored(image, "JPEG", quality=95, exif=exif), 32).astype(int)
    upright = decode(stored(image.transpose(turned)), 32)
    assert abs(found - upright).mean() < 3


def test_scaling_down_averages():
    stripes = np.zeros((64, 64), np.uint8)
    stripes[::2] = 255
    pixels = decode(stored(Image.fromarray(stripes)), 8)
    assert abs(pixels.astype(int) - 127).max() < 12


def test_a_long_strip_is_not_blown_up():
    assert decode(stored(Image.new("RGB", (20_000, 1))), 224).shape == (3, 224, 224)


def png(width: int, height: int) -> bytes:
    """A file that announces any size and holds almost nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(100))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [10_000, 50_000, 2**31 - 1])
def test_decompression_bombs_are_refused(side):
    with pytest.raises(Unreadable, match="too many"):
        decode(png(side, side))


def test_formats_that_start_programs_are_not_tried():
    assert "EPS" not in FORMATS
    with pytest.raises(Unreadable, match="not an image of a known format"):
        decode(stored(Image.new("RGB", (4, 4)), "EPS"))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_half_a_file_is_unreadable(picture, format, share):
    contents = stored(picture(0, 64, 64), format)
    with pytest.raises(Unreadable) as caught:
        decode(contents[: int(share * len(contents))])
    assert str(caught.value) and "\n" not in str(caught.value)


@settings(max_examples=200)
@given(st.sampled_from(["PNG", "JPEG", "GIF", "BMP", "TIFF"]), st.randoms(use_true_random=False))
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_damaged_bytes_give_an_image_or_unreadable(format, random):
    contents = bytearray(stored(Image.linear_gradient("L").resize((24, 24)), format))
    for _ in range(random.randint(1, 8)):
        contents[random.randrange(len(contents))] = random.randrange(256)
    try:
        assert decode(bytes(contents)).shape[0] == 3
    except Unreadable as error:
        assert str(error)


def test_without_pillow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ClsnetError, match=r"needs Pillow: pip install 'clsnet\[vision\]'"):
        decode(b"")
