"""Size on disk of the photo tool: the wheel with its extras, in an environment of its own.

    python benchmarks/photo_install.py [--out results/bench/photos_install.json]

The new environment then learns and recognises a few drawn photos, so nothing that it needs can be
missing from it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from clsnet.evaluation.store import environment

ROOT = Path(__file__).parents[1]
EXTRAS = "cli,vision"
GB = 1e9
LARGEST = 12


def on_disk(folder: Path) -> int:
    """Return the bytes that a folder occupies."""
    return sum(p.lstat().st_blocks * 512 for p in [folder, *folder.rglob("*")])


def pip(python: Path, *words: str) -> None:
    subprocess.run([python, "-m", "pip", "--quiet", *words], check=True)


def install(folder: Path) -> Path:
    """Make an environment with the wheel of this tree, and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env/bin/python"
    pip(python, "wheel", "--no-deps", "-w", str(folder), str(ROOT))
    (wheel,) = folder.glob("clsnet-*.whl")
    pip(python, "install", "-c", str(ROOT / "constraints.txt"), f"{wheel}[{EXTRAS}]")
    return python


def draw_photos(folder: Path) -> None:
    random = np.random.default_rng(0)
    for name, colour in {"rust": (150, 60, 20), "sea": (20, 80, 160)}.items():
        (folder / name).mkdir(parents=True)
        for i in range(6):
            pixels = random.normal(colour, 25, (64, 64, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i}.png")


def try_out(python: Path, folder: Path) -> None:
    """Learn and recognise a few photos with the installed commands."""
    draw_photos(folder / "photos")
    for words in (
        ("learn", "m.clsnet", "photos"),
        ("predict", "m.clsnet", "photos/sea/0.png"),
        ("forget", "m.clsnet", "rust"),
        ("info", "m.clsnet"),
    ):
        subprocess.run([python, "-m", "clsnet", *words], cwd=folder, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("results/bench/photos_install.json"))
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = install(folder)
        (packages,) = (folder / "env/lib").glob("python*/site-packages")
        sizes = {place.name: on_disk(place) / GB for place in packages.iterdir()}
        largest = sorted(sizes, key=lambda one: -sizes[one])[:LARGEST]
        figures = {
            "photo_install_gb": on_disk(folder / "env") / GB,
            "site_packages_gb": on_disk(packages) / GB,
            "largest_gb": {one: round(sizes[one], 4) for one in largest},
        }
        try_out(python, folder)
    command = "python benchmarks/photo_install.py"
    figures |= {"command": command, "extras": EXTRAS, "environment": environment()}
    out.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
