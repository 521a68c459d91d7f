"""Odd photos by number: every mode, format, size and note of a camera, half of them damaged.

``python -m tests.fuzz.odd_photos [COUNT]``: learn and predict so many, and print what became of
them as JSON.
"""

import json
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image, features

from clsnet.extractor import Patches
from clsnet.images import Images
from clsnet.images.decode import Unreadable
from clsnet.images.endings import OTHERS, PHOTOS, kind_of, missing
from clsnet.photos import learn, predict
from tests.fuzz.child import mutated
from tests.fuzz.image_corpus import BOMBS, other_formats, png, stored
from tests.fuzz.raw_files import dng

SIZES = [(1, 1), (1, 10_000), (10_000, 1), (3, 2), (64, 48), (48, 64), (224, 224), (301, 200)]
MODES = {
    "JPEG": ("RGB", "L", "CMYK", "1"),
    "PNG": ("RGB", "L", "1", "P", "LA", "RGBA", "I;16"),
    "WEBP": ("RGB", "RGBA", "L"),
    "GIF": ("P", "L", "1", "RGB"),
    "BMP": ("RGB", "L", "1", "P", "RGBA"),
    "TIFF": ("RGB", "L", "1", "P", "LA", "RGBA", "CMYK", "I;16", "I", "F", "YCbCr", "LAB"),
    "AVIF": ("RGB", "RGBA"),
    "HEIF": ("RGB", "RGBA"),
    "DNG": ("I;16",),
}
ENDINGS = {
    "JPEG": (".jpg", ".JPEG", ".jfif", ".jpe"),
    "PNG": (".png",),
    "WEBP": (".webp",),
    "GIF": (".gif",),
    "BMP": (".bmp",),
    "TIFF": (".tif", ".TIFF"),
    "AVIF": (".avif",),
    "HEIF": (".heic", ".HEIF"),
    "DNG": (".dng", ".nef", ".ARW"),
}
ANIMATED = ("GIF", "WEBP", "PNG", "TIFF")
TURNED = ("JPEG", "PNG", "WEBP", "TIFF")
SMALL = 300  # pixels on a side, of what is a bomb when it is large
CLASSES = 4
PATIENCE = 5.0  # seconds
TRIES = 3
LEFT_OUT = re.compile(r"(?:^|: )([\d,]+) (?:\.\w+ )?files? (?:is|are|was|were) (?:no|not) ")
Random = np.random.RandomState


def formats() -> list[str]:
    """Return the formats that can be written here."""
    avif = "avif" in features.modules and features.check("avif")  # older ones do not know it
    lacking = {"HEIF": missing("heif"), "AVIF": not avif, "DNG": missing("raw")}
    return [format for format in MODES if not lacking.get(format)]


def good_photo(number: int) -> tuple[str, bytes]:
    """Return the ending and the contents of a photo that is odd and whole."""
    random = Random(number)
    format = _any(random, formats())
    end, mode = _any(random, ENDINGS[format]), _any(random, MODES[format])
    size = SIZES[random.randint(len(SIZES))]
    if format in ("AVIF", "HEIF", "DNG"):
        size = (64, 48)
    return end, _written(format, mode, size, random)


def odd_photo(number: int) -> tuple[str, bytes]:
    """Return the ending and the contents of a photo, or of what pretends to be one."""
    random = Random(10**6 + number)
    if number % 2 == 0:
        return good_photo(number)
    end, contents = good_photo(number)
    damage: Callable[[bytes, Random], bytes] = _any(random, DAMAGES)
    if random.rand() < 0.2:
        end = _any(random, (*PHOTOS, *OTHERS, "", ".txt", ".jpg.bak"))
    return end, damage(contents, random)


def _any(random: Random, choices: object) -> object:
    return choices[random.randint(len(choices))]


def _picture(mode: str, size: tuple[int, int], random: Random) -> Image.Image:
    """Draw smooth colours, of any mode."""
    rough = random.randint(0, 256, (3, 3, 4)).astype(np.uint8)
    if mode in ("I;16", "I", "F"):
        greys = Image.fromarray(rough[..., 0]).resize(size, Image.Resampling.BICUBIC)
        numbers = np.asarray(greys).astype(np.uint32) * 257 + random.randint(0, 200)
        kind = {"I;16": np.uint16, "I": np.int32, "F": np.float32}[mode]
        return Image.fromarray(numbers.clip(0, 65535).astype(kind))
    image = Image.fromarray(rough).resize(size, Image.Resampling.BICUBIC)
    if mode == "RGBA":
        return image
    converted = image.convert("RGB").convert(mode)
    converted.info.pop("icc_profile", None)  # that of LAB holds the time of day
    return converted


def _written(format: str, mode: str, size: tuple[int, int], random: Random) -> bytes:
    image = _picture(mode, size, random)
    if format == "DNG":
        return dng(np.asarray(image), int(random.choice([1, 3, 6, 8])))
    options: dict[str, object] = {}
    if mode == "LA":
        image.putalpha(_picture("L", size, random))
    if format == "HEIF":
        import pillow_heif

        pillow_heif.register_heif_opener()
    if mode == "P" and random.rand() < 0.7:
        several = format == "PNG" and random.rand() < 0.5
        options["transparency"] = random.bytes(50) if several else int(random.randint(20))
    if mode in ("RGB", "L") and format == "PNG" and random.rand() < 0.3:
        first = image.getpixel((0, 0))
        options["transparency"] = first
    if format in TURNED and random.rand() < 0.5:
        exif = Image.Exif()
        low, high = (1, 9) if format == "TIFF" else (0, 11)  # libtiff writes no others
        exif[ExifTags.Base.Orientation] = int(random.randint(low, high))
        options["exif"] = exif
    if format in ANIMATED and mode not in ("F", "I", "I;16") and random.rand() < 0.3:
        others = [_picture(mode, size, random) for _ in range(2)]
        options |= {"save_all": True, "append_images": others}
    if format == "JPEG":
        options |= {"progressive": bool(random.randint(2)), "quality": int(random.randint(5, 96))}
    if format == "TIFF" and mode not in ("1", "F", "I", "LAB", "YCbCr"):
        options["compression"] = _any(random, ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"))
    if format in ("BMP", "TIFF"):
        options.pop("transparency", None)
    return stored(image, format, **options)


@cache
def _strange() -> list[bytes]:
    """Return what is large in its header, or an image of another kind."""
    return [*(made(SMALL) for made in BOMBS.values()), *other_formats().values()]


DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    lambda contents, random: contents[: random.randint(len(contents) + 1)],
    lambda contents, random: mutated(contents, random),
    lambda contents, random: mutated(contents, random),
    lambda contents, random: b"",
    lambda contents, random: bytes(random.randint(1, 5000)),
    lambda contents, random: random.bytes(random.randint(1, 5000)),
    lambda contents, random: b"<html><body>404 Not Found</body></html>",
    lambda contents, random: random.bytes(9) + contents,
    lambda contents, random: contents + random.bytes(999),
    lambda contents, random: contents[: len(contents) // 2] + bytes(len(contents) // 2),
    lambda contents, random: _any(random, _strange()),
    lambda contents, random: _any(random, _strange()),
    lambda contents, random: png(2 ** random.randint(8, 31), 2 ** random.randint(8, 31)),
    lambda contents, random: contents,
)


def write(folder: Path, first: int, count: int) -> list[Path]:
    """Write photos into the folders of a few classes."""
    paths = []
    for number in range(first, first + count):
        end, contents = odd_photo(number)
        place = folder / f"class {number % CLASSES}"
        place.mkdir(parents=True, exist_ok=True)
        paths.append(place / f"{number}{end}")
        paths[-1].write_bytes(contents)
    return paths


def tried(first: int, count: int) -> dict[str, object]:
    """Learn and predict odd photos, and count what became of them."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name) / "photos"
        paths = write(folder, first, count)
        readings = {path: _read(path) for path in paths}
        readable = {path for path, reading in readings.items() if reading.complaint is None}
        crashes = [reading.crash for reading in readings.values() if reading.crash]
        slowest = max(paths, key=lambda path: readings[path].clock_s)
        model = Path(name) / "m.clsnet"
        learned = learn(model, folder, backbone=Patches(filters=2, sizes=(6,), pool=2))
        answers = predict(model, [folder], reject=0)
        taken = [path for path in paths if path.suffix.lower() in PHOTOS]
        tried_here = [path for path in taken if not missing(kind_of(path.name))]
        different = len({(path.parent, path.read_bytes()) for path in tried_here})
    said = sum(int(n.replace(",", "")) for line in learned.warnings for n in LEFT_OUT.findall(line))
    silent = different - sum(learned.counts.values()) - len(learned.unreadable)
    return {
        "photos": len(paths),
        "learned": sum(learned.counts.values()),
        "refused": len(learned.unreadable),
        "left_out_by_their_endings": said,
        "same_files": len(tried_here) - different,
        "skipped_silently": abs(silent) + abs(len(paths) - len(tried_here) - said),
        "predicted": sum(not answer.unreadable for answer in answers),
        "not_answered": len(taken) - len(answers),
        "answered_differently": sum(
            bool(answer.unreadable) == (answer.path in readable) for answer in answers
        ),
        "crashes": crashes,
        "longest_s": round(readings[slowest].clock_s, 2),
        "longest_at_first_s": round(max(one.first_s for one in readings.values()), 2),
        "longest_of_a_processor_s": round(max(one.cpu_s for one in readings.values()), 2),
        "slowest": slowest.name,
        "formats": formats(),
    }


@dataclass
class Reading:
    """How long a photo took, by the clock and of a processor, and why it could not be read."""

    clock_s: float
    first_s: float
    cpu_s: float
    complaint: str | None = None
    crash: str = ""


def _read(path: Path) -> Reading:
    """Read a photo. One that takes long is read again: on a busy machine any photo may wait."""
    readings = [_read_once(path)]
    while readings[-1].clock_s > PATIENCE and len(readings) < TRIES:
        readings.append(_read_once(path))
    quickest = min(readings, key=lambda reading: reading.clock_s)
    return replace(quickest, first_s=readings[0].first_s)


def _read_once(path: Path) -> Reading:
    start, used = time.monotonic(), _processor_s()
    complaint, crash = None, ""
    try:
        Images([path], 64)[0]
    except Unreadable as error:
        complaint = str(error)
        crash = f"{path.name}: more than a line" if "\n" in complaint else ""
    except BaseException as error:
        complaint = crash = f"{path.name}: {error!r}"
    took = time.monotonic() - start
    return Reading(took, took, _processor_s() - used, complaint, crash)


def _processor_s() -> float:
    """Return the seconds of a processor that this process and its children have used."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    print(json.dumps(tried(0, int((sys.argv[1:] or ["2000"])[0])), indent=1))
