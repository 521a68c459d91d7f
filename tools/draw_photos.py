"""Draw photos to try the commands with: ``python tools/draw_photos.py FOLDER``.

FOLDER gets photos/january (apple, banana), photos/february (carrot), photos/labelled (all three,
other photos) and inbox (one of each, and a brick wall, which is none of them). Every photo is
another picture, and the same command draws the same photos again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SIZE = 256
MIDDLE = SIZE // 2
Draw = ImageDraw.ImageDraw


def apple(draw: Draw, random: np.random.Generator) -> None:
    red = int(random.integers(150, 230)), int(random.integers(10, 60)), 30
    draw.ellipse((60, 70, 150, 200), fill=red)
    draw.ellipse((106, 70, 196, 200), fill=red)
    draw.line((MIDDLE, 80, 138, 40), fill=(80, 50, 20), width=8)
    draw.ellipse((136, 40, 180, 62), fill=(60, 140, 50))
    draw.ellipse((78, 90, 100, 122), fill=(250, 190, 180))


def banana(draw: Draw, random: np.random.Generator) -> None:
    yellow = int(random.integers(220, 255)), int(random.integers(190, 225)), 50
    draw.arc((40, -40, 216, 200), 20, 160, fill=yellow, width=44)
    draw.ellipse((196, 100, 222, 130), fill=(90, 70, 30))
    draw.ellipse((36, 100, 58, 126), fill=(90, 70, 30))


def carrot(draw: Draw, random: np.random.Generator) -> None:
    orange = int(random.integers(225, 255)), int(random.integers(110, 150)), 20
    draw.polygon([(95, 90), (161, 90), (MIDDLE, 235)], fill=orange)
    for height in (115, 140, 165, 190):
        draw.line((112, height, 134, height + 4), fill=(190, 90, 20), width=3)
    for x in (88, 108, 128, 148, 168):
        draw.line((MIDDLE, 92, x, 25), fill=(50, 150, 60), width=9)


def bricks(draw: Draw, random: np.random.Generator) -> None:
    for row in range(-4, 20):
        for column in range(-4, 12):
            left, top = 44 * column + 22 * (row % 2), 22 * row
            shade = int(random.integers(-25, 25))
            draw.rectangle((left, top, left + 40, top + 18), fill=(150 + shade, 75, 60))


def photo(thing: Callable[[Draw, np.random.Generator], None], seed: int) -> Image.Image:
    """Return a thing, turned and shifted at random, on a table in a random light."""
    random = np.random.default_rng(seed)
    corners = random.integers(120, 235, (2, 2, 3), dtype=np.uint8)
    table = Image.fromarray(corners).resize((SIZE, SIZE), Image.Resampling.BICUBIC)
    layer = Image.new("RGBA", (SIZE, SIZE))
    thing(ImageDraw.Draw(layer), random)
    layer = layer.rotate(
        float(random.uniform(-40, 40)), translate=tuple(random.integers(-25, 26, 2).tolist())
    )
    table.paste(layer, mask=layer)
    grain = random.normal(0, 6, (SIZE, SIZE, 1))
    pixels = np.asarray(table.filter(ImageFilter.GaussianBlur(1)), float) + grain
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def draw_photos(folder: Path, photos: int = 12) -> None:
    """Draw all photos."""
    things = {"apple": apple, "banana": banana, "carrot": carrot}
    places = {"january": ("apple", "banana"), "february": ("carrot",), "labelled": tuple(things)}
    seed = 0
    for place, names in places.items():
        for name in names:
            (folder / "photos" / place / name).mkdir(parents=True, exist_ok=True)
            for number in range(photos):
                path = folder / "photos" / place / name / f"{name}-{number:02}.jpg"
                photo(things[name], seed).save(path, quality=90)
                seed += 1
    (folder / "inbox").mkdir(exist_ok=True)
    for number, thing in enumerate([*things.values(), bricks], start=1):
        photo(thing, seed + number).save(folder / "inbox" / f"img{number}.jpg", quality=90)


if __name__ == "__main__":
    draw_photos(Path(sys.argv[1]))
