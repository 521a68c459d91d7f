"""HEIC, AVIF and camera raw files, each read in a process of its own."""

import io
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image, features
from tests.fuzz.raw_files import dng

from clsnet.images import Images, endings, foreign
from clsnet.images.decode import Unreadable, decode
from clsnet.images.endings import AVIF, HEIF, PHOTOS, PLAIN, RAW, kind_of, missing
from clsnet.images.foreign import foreign_kind

needs_avif = pytest.mark.skipif(not features.check("avif"), reason="this Pillow knows no AVIF")
needs_rawpy = pytest.mark.skipif(bool(missing("raw")), reason="rawpy is not there")
ORIENTATION = 0x0112


def stored(image, format, **options):
    if format == "HEIF":
        pytest.importorskip("pillow_heif").register_heif_opener()
    elif not features.check("avif"):
        pytest.skip("this Pillow knows no AVIF")
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


@pytest.fixture(autouse=True)
def asked_again():
    missing.cache_clear()
    yield
    missing.cache_clear()


def red(height, width):
    """What a sensor behind red, green and blue filters sees of a red wall."""
    pixels = np.full((height, width), 1000)
    pixels[::2, ::2] = 60_000
    return pixels


@pytest.mark.parametrize("format", ["HEIF", "AVIF"])
def test_colours_transparency_and_orientation(format):
    pixels = decode(stored(Image.new("RGB", (64, 48), "red"), format), 8)
    assert pixels.shape == (3, 8, 8) and pixels.dtype == np.uint8
    assert pixels[0].min() > 250 > 5 > pixels[1:].max()
    clear = stored(Image.new("RGBA", (64, 48), (9, 9, 9, 0)), format)
    assert decode(clear).min() > 250
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    turned = stored(Image.new("RGB", (64, 48)), format, exif=exif.tobytes())
    assert decode(turned).shape == (3, 64, 48)


@pytest.mark.parametrize("format", ["HEIF", "AVIF"])
def test_the_name_does_not_matter(format, tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(stored(Image.new("RGB", (64, 48), "blue"), format))
    assert Images([path], 8)[0][2].min() > 240


@needs_rawpy
@pytest.mark.parametrize(("orientation", "shape"), [(1, (40, 60)), (6, (60, 40)), (3, (40, 60))])
def test_a_raw_file_is_developed_at_half_its_size(orientation, shape):
    pixels = decode(dng(red(80, 120), orientation), name="IMG_1.DNG")
    assert pixels.shape[1:] == shape
    assert pixels[0].min() > 200 > 100 > pixels[1:].max()


@needs_rawpy
@pytest.mark.parametrize(("orientation", "shape"), [(1, (700, 1000)), (6, (1000, 700))])
def test_the_cameras_own_rendering_is_taken_if_it_is_large_enough(orientation, shape):
    file = io.BytesIO()
    Image.new("RGB", (1000, 700), "blue").save(file, "JPEG")
    pixels = decode(dng(red(80, 120), orientation, file.getvalue()), name="a.dng")
    assert pixels.shape[1:] == shape and pixels[2].min() > 240
    file = io.BytesIO()
    Image.new("RGB", (160, 120), "blue").save(file, "JPEG")
    pixels = decode(dng(red(80, 120), preview=file.getvalue()), name="a.dng")
    assert pixels[0].min() > 200 > 100 > pixels[1:].max()


@needs_rawpy
def test_other_images_under_the_name_of_a_raw_file(picture):
    for format in ("JPEG", "PNG", "TIFF"):
        file = io.BytesIO()
        picture(0, 30, 20).save(file, format)
        assert decode(file.getvalue(), name="a.nef").shape == (3, 20, 30), format


@needs_rawpy
@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        (b"", "cut off or damaged"),
        (b"no photo" * 99, "not an image of a known format"),
        (dng(red(80, 120))[:3000], "cut off or damaged"),
        (dng((9000, 12_000)), "cut off or damaged"),
        (dng((30_000, 30_000)), "30000 x 30000 pixels are too many"),
    ],
)
def test_bad_raw_files_are_refused_in_a_line(contents, reason, capfd):
    with pytest.raises(Unreadable, match=reason):
        decode(contents, 8, "a.nef")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("format", ["HEIF", "AVIF"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_half_a_file_is_unreadable(picture, format, share):
    contents = stored(picture(0, 64, 64), format)
    with pytest.raises(Unreadable) as caught:
        decode(contents[: int(share * len(contents))])
    assert str(caught.value) and "\n" not in str(caught.value)


def test_too_many_pixels_are_refused_by_the_header():
    contents = stored(Image.new("L", (7400, 7400)).convert("RGB"), "AVIF", speed=10)
    with pytest.raises(Unreadable, match="7400 x 7400 pixels are too many"):
        decode(contents, 8)


@needs_avif
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
@pytest.mark.parametrize("limit", ["SECONDS = 0", "MEMORY = 2**26"])
def test_a_reader_that_takes_too_much_is_ended(limit, tmp_path, monkeypatch):
    child = tmp_path / "limited_child.py"
    child.write_text(
        "import sys\nimport clsnet.images.foreign_child as child\n"
        f"child.{limit}\n"
        "sys.exit(child.main(sys.argv[1], int(sys.argv[2])))\n"
    )
    contents = stored(Image.new("RGB", (3000, 3000)), "AVIF", speed=10)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(foreign, "CHILD", "limited_child")
    with pytest.raises(Unreadable, match=r"exceeded its limits|Decoding of color planes failed"):
        decode(contents, 8)


@needs_avif
def test_a_reader_that_does_not_end_is_ended(monkeypatch):
    contents = stored(Image.new("RGB", (300, 300)), "AVIF", speed=10)
    monkeypatch.setattr(foreign, "CLOCK", 0.01)
    with pytest.raises(Unreadable, match="it takes more than 0 seconds"):
        decode(contents, 8)


@needs_avif
def test_many_at_once_wait_for_each_other():
    contents = stored(Image.new("RGB", (64, 48), "red"), "AVIF")
    with ThreadPoolExecutor(4) as pool:
        shapes = [pixels.shape for pixels in pool.map(decode, [contents] * 6)]
    assert shapes == [(3, 48, 64)] * 6


def test_endings_have_one_reader_each():
    assert len(set(PHOTOS)) == len(PHOTOS)
    assert not {*PHOTOS} & {*endings.OTHERS}
    kinds = {"": PLAIN, "heif": HEIF, "avif": AVIF, "raw": RAW}
    for kind, ends in kinds.items():
        assert {kind_of(f"A{end.upper()}") for end in ends} == {kind}


@pytest.mark.parametrize(
    ("start", "name", "kind"),
    [
        (b"\0\0\0\x18ftypheic", "a.jpg", "heif"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0mif1avif", "a.jpg", "avif"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", "a.jpg", "heif"),
        (b"\0\0\0\x18ftypcrx \0", "a.jpg", "raw"),
        (b"\0\0\0\x18ftypmp42", "a.mp4", ""),
        (b"FUJIFILMCCD-RAW 0201", "a", "raw"),
        (b"II*\0", "a.tif", ""),
        (b"II*\0", "a.ARW", "raw"),
        (b"\xff\xd8\xff\xe1", "a.arw", ""),
        (b"", "", ""),
    ],
)
def test_readers_are_told_by_contents_then_by_name(start, name, kind):
    assert foreign_kind(start, name) == kind


@pytest.mark.parametrize(
    ("package", "start", "name", "line"),
    [
        ("pillow_heif", b"\0\0\0\x18ftypheic", "", "HEIC needs pillow_heif"),
        ("rawpy", b"II*\0", "a.cr2", "a camera raw file needs rawpy"),
    ],
)
def test_without_its_package_a_photo_says_what_to_install(monkeypatch, package, start, name, line):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Unreadable, match=rf"{line} \(pip install 'clsnet\[formats\]'\)"):
        decode(start + bytes(100), name=name)
