"""Build the wheel and the source archive and try them: ``python tools/release.py [EXTRA ...]``.

Both are checked and lie in dist/ afterwards. Each extra is installed into an environment of its
own, where something that needs it runs; with all of them together, every command does. Nothing is
uploaded. With names of extras, only these are tried.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

from draw_photos import draw_photos

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
CORE = "no extra"
TOGETHER = "all together"
FIT = """
from sklearn.datasets import load_digits
from clsnet import CLSNet, load
X, y = load_digits(return_X_y=True)
model = CLSNet(retain="classes").fit(X[:500], y[:500]).partial_fit(X[500:], y[500:])
assert model.score(X, y) > 0.95
model.forget(classes=[3]).save("digits.clsnet")
assert 3 not in load("digits.clsnet").predict(X)
"""
LEARN = """
from clsnet.photos import learn, predict
assert learn("m.clsnet", "photos/january"{}).counts == {{"apple": 12, "banana": 12}}
[found] = predict("m.clsnet", ["inbox/img1.jpg"])
assert found.label == "apple", found
"""
FORMATS = """
from pathlib import Path
import pillow_heif, rawpy
from PIL import Image
pillow_heif.register_heif_opener()
for path in [*Path("photos/january").glob("*/*-0[0-3].jpg")]:
    Image.open(path).save(path.with_suffix(".heic"))
    Image.open(path).save(path.with_suffix(".avif"))
from clsnet.photos import learn
assert sum(learn("m.clsnet", "photos/january").counts.values()) == 40
"""
GRADIENTS = """
from clsnet.data import load_sequence
from clsnet.evaluation.protocol import evaluate
from clsnet.methods import get_method
sequence = load_sequence("Digits-10/5")
tasks = sequence.tasks(sequence.order(seed=0, index=0))[:2]
print(evaluate(lambda: get_method("ewc").build(seed=0), tasks, with_independent=False).metrics())
"""
SERVERS = """
import re, subprocess, sys
from http.cookiejar import CookieJar
from urllib.request import HTTPCookieProcessor, build_opener
from clsnet.photos import learn
learn("m.clsnet", "photos/january")
for words, path in ((["serve", "m.clsnet"], "/info"), (["page", "m.clsnet", "--no-browser"], "")):
    command = [sys.executable, "-m", "clsnet", *words, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        addresses = (re.findall(r"http:[^;\\s]+", line) for line in server.stdout)
        [address] = next(filter(None, addresses))
        browser = build_opener(HTTPCookieProcessor(CookieJar()))
        assert browser.open(address + path).status == 200
    finally:
        server.terminate()
"""
SUMS = """
import dask.bag, ray.data
from sklearn.datasets import load_digits
from clsnet import CLSNet
from clsnet.engines import dask as engine, ray as other
X, y = load_digits(return_X_y=True)
parts = dask.bag.from_sequence([(X[:900], y[:900]), (X[900:], y[900:])], npartitions=2)
assert CLSNet().learn_sums(engine.summarise(CLSNet(), parts)).score(X, y) > 0.95
"""
TRIALS = {
    CORE: FIT,
    "vision": LEARN.format(""),
    "vision-large": LEARN.format(', preset="best"'),
    "formats": FORMATS,
    "export": "import onnx, onnxruntime",
    "report": "import jinja2, matplotlib",
    "page": SERVERS,
    "engines": SUMS,
    "spark": "import clsnet.engines.spark, pyarrow, pyspark",
    "torch": GRADIENTS,
    "hub": "import onnxscript, transformers",
    "timm": "import onnxscript, timm",
    "test": "import hypothesis, pytest",
    "docs": "import material, mkdocstrings",
    "release": "import build, twine",
}
COMMANDS = {
    "cli": "methods; datasets; bench Digits-10/5 --out runs",
    TOGETHER: """
        learn m.clsnet photos/january; learn other.clsnet photos/february; info m.clsnet --card;
        predict m.clsnet inbox --json; test m.clsnet photos/labelled -o test.html;
        correct m.clsnet inbox/img1.jpg apple; undo m.clsnet;
        merge m.clsnet other.clsnet -o b.clsnet;
        sort b.clsnet inbox --into sorted --go; sort --undo sorted; forget b.clsnet apple --purge;
        export m.clsnet m.onnx; methods; datasets; bench Digits-10/5 --out runs;
        report runs -o report.html; reproduce contradictions -o page.html;
        pretrain folder:photos/january --epochs 1 --size 32 --device cpu --out base.safetensors
    """,
}


def run(*words: object, cwd: Path = ROOT, silent: bool = False) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    out = subprocess.DEVNULL if silent else None
    subprocess.run([str(word) for word in words], cwd=cwd, env=environment, stdout=out, check=True)


def build() -> Path:
    """Build both archives, the wheel from the source archive, and return the wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--installer", "uv", "--outdir", DIST, silent=True)
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    (wheel,) = DIST.glob("*.whl")
    return wheel


def extras(wheel: Path) -> list[str]:
    """Return the extras that a wheel has, after a look at what else is in it."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        about = Parser().parsestr(archive.read(metadata).decode())
    for name in ("clsnet/py.typed", "clsnet/reporting/templates/page.html"):
        assert name in names, f"{wheel.name} lacks {name}"
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"clsnet"}, f"{wheel.name} holds {sorted(tops)}"
    return list(about.get_all("Provides-Extra") or ())


def try_out(wheel: Path, name: str, wanted: list[str]) -> None:
    """Install the wheel with some extras into a new environment, and run what they are for."""
    print(f"{wheel.name}, {name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        draw_photos(place)
        run("uv", "venv", "--quiet", "--python", sys.executable, place / "env")
        python = place / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        what = f"clsnet[{','.join(wanted)}] @ {wheel.as_uri()}" if wanted else wheel
        pip = "uv", "pip"
        run(*pip, "install", "--quiet", "--python", python, "-c", ROOT / "constraints.txt", what)
        run(*pip, "check", "--quiet", "--python", python)
        if name in TRIALS:
            run(python, "-c", TRIALS[name], cwd=place)
        if "cli" in wanted:
            listing = (
                "import clsnet.cli.app as a, typer; print(*typer.main.get_command(a.app).commands)"
            )
            listed = subprocess.check_output([python, "-c", listing], text=True, cwd=place).split()
            for command in listed:
                run(python, "-m", "clsnet", command, "--help", cwd=place, silent=True)
        for command in filter(str.strip, COMMANDS.get(name, "").split(";")):
            run(python, "-m", "clsnet", *shlex.split(command), cwd=place, silent=True)


def main(chosen: list[str]) -> None:
    wheel = build()
    known = extras(wheel)
    trials = {CORE: [], **{name: [name] for name in known}, TOGETHER: known}
    untried = set(known) - TRIALS.keys() - COMMANDS.keys() - {"dev"}
    assert not untried, f"nothing is tried of the extra {sorted(untried)[0]}"
    for name in chosen or trials:
        try_out(wheel, name, trials[name])
    print(f"{DIST} holds a release that works; nothing was uploaded.")


if __name__ == "__main__":
    main(sys.argv[1:])
