"""The recipes of CONTRIBUTING.md, each run as another package: one file and one entry point."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

GUIDE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
TASKS = """
import numpy as np
from sklearn.datasets import load_digits
from clsnet import CLSNet, load
X, y = load_digits().images.astype(np.uint8), load_digits().target
tasks = [np.isin(y, classes) for classes in ((0, 1), (2, 3), (4, 5))]
"""


def section(title: str) -> str:
    """Return what stands below a heading, up to the next one."""
    (text,) = re.findall(rf"\n### {title}\n(.*?)(?=\n##)", GUIDE, re.DOTALL)
    return text


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def install(tmp_path: Path) -> Callable[[str], Path]:
    """Lay a recipe's file and its entry points where Python finds them, as pip would."""

    def lay(title: str) -> Path:
        ((points,), (code,)) = (blocks(section(title), kind) for kind in ("toml", "python"))
        (name,) = re.findall(r"^# (\w+)\.py\n", code)
        site = tmp_path / "site"
        about = site / f"{name}-1.dist-info"
        about.mkdir(parents=True)
        (site / f"{name}.py").write_text(code)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        groups = tomllib.loads(points)["project"]["entry-points"]
        lines = [
            line
            for group, named in groups.items()
            for line in [f"[{group}]", *(f"{key} = {value}" for key, value in named.items())]
        ]
        (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
        return site

    return lay


def python(site: Path, code: str) -> str:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=site,
        env={**os.environ, "PYTHONPATH": path},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_method_conforms_and_is_benchmarked(install, run_clsnet, tmp_path) -> None:
    site = install("A method")
    (check,) = blocks(section("A method"), "py")
    python(site, "from nearest_mean import METHOD\n" + check)
    assert "nearest-mean" in run_clsnet("methods", PYTHONPATH=str(site)).out
    bench = ("bench", "Digits-10/5", "--method", "nearest-mean", "--jobs", 1, "--out", tmp_path)
    done = run_clsnet(*bench, PYTHONPATH=str(site))
    assert done.status == 0, done.err
    run = json.loads((tmp_path / "Digits-10/5/nearest-mean/0.json").read_text())
    assert run["avg_acc"] > 0.85


SAVE_AND_LOAD = """
for task in tasks:
    model.partial_fit(X[task], y[task])
seen = np.logical_or.reduce(tasks)
assert model.score(X[seen], y[seen]) > 0.9, model.score(X[seen], y[seen])
model.save("model.clsnet")
np.save("answers.npy", model.decision_function(X[seen]))
"""
LOAD = """
from clsnet import ClsnetError
try:
    load("model.clsnet")
except ClsnetError as error:
    assert "refers to the" in str(error) and repr(NAME) in str(error), error
model = load("model.clsnet", allow=NAME)
seen = np.logical_or.reduce(tasks)
assert np.allclose(model.decision_function(X[seen]), np.load("answers.npy"), rtol=0, atol=1e-9)
"""


@pytest.mark.parametrize("given", ["'edges'", "Edges(power=1.0)"])
def test_a_backbone_learns_saves_and_loads_by_its_name(install, given: str) -> None:
    site = install("A backbone")
    start = f"{TASKS}from edges import Edges\nmodel = CLSNet(backbone={given}, ridge=1e-3)\n"
    python(site, start + SAVE_AND_LOAD)
    said = python(
        site, "NAME = 'edges'\n" + TASKS + LOAD + "print(repr(model.extractor_.backbone))"
    )
    assert said.strip() == f"Edges(power={1.0 if 'power' in given else 0.5})"


def test_a_backbone_of_another_package_makes_the_same_model_in_any_order(install) -> None:
    code = """
def learned(order):
    model = CLSNet(backbone="edges", connection="Z", ridge=1e-3)
    for i in order:
        model.partial_fit(X[tasks[i]], y[tasks[i]])
    return model.decision_function(X)[:, np.argsort(model.classes_)]
assert np.allclose(learned([0, 1, 2]), learned([2, 0, 1]), rtol=0, atol=1e-8)
"""
    python(install("A backbone"), TASKS + code)


def test_any_function_of_images_is_a_backbone_and_one_without_a_name_is_not_saved(install) -> None:
    code = """
from clsnet import ClsnetError
model = CLSNet(backbone=lambda X: X.reshape(len(X), -1) / 16.0)
for task in tasks:
    model.partial_fit(X[task], y[task])
assert model.score(X[tasks[0]], y[tasks[0]]) > 0.9
try:
    model.save("model.clsnet")
except ClsnetError as error:
    print(error)
"""
    printed = python(install("A backbone"), TASKS + code)
    assert "entry point" in printed
    assert printed.count("\n") == 1


def test_a_function_with_an_entry_point_is_saved_by_its_name(install) -> None:
    site = install("A backbone")
    (site / "pixels.py").write_text("def pixels(X):\n    return X.reshape(len(X), -1) / 16.0\n")
    points = site / "edges-1.dist-info/entry_points.txt"
    points.write_text("[clsnet.backbones]\npixels = pixels:pixels\n")
    python(site, f"{TASKS}model = CLSNet(backbone='pixels', ridge=1e-3)\n" + SAVE_AND_LOAD)
    python(site, "NAME = 'pixels'\n" + TASKS + LOAD)


def test_a_data_set_is_listed_and_benchmarked(install, run_clsnet, tmp_path) -> None:
    site = install("A data set")
    assert "Stripes" in run_clsnet("datasets", PYTHONPATH=str(site)).out
    bench = ("bench", "Stripes-4/2", "--method", "ncm", "--method", "clsnet", "--preset", "fast")
    done = run_clsnet(*bench, "--jobs", 1, "--out", tmp_path, PYTHONPATH=str(site))
    assert done.status == 0, done.err
    run = json.loads((tmp_path / "Stripes-4/2/clsnet/0.json").read_text())
    assert run["avg_acc"] > 0.9


@pytest.mark.parametrize("given", ["'fading'", "Fading(power=2.0)"])
def test_a_forgetting_policy_is_used_saved_and_loaded(install, given: str) -> None:
    site = install("A forgetting policy")
    start = f"{TASKS}from fading import Fading\n"
    start += f"model = CLSNet(forgetting={given}, retain='tasks', preset='fast')\n"
    plain = "plain = CLSNet(retain='tasks', preset='fast')\n"
    plain += "for task in tasks:\n    plain.partial_fit(X[task], y[task])\n"
    plain += "assert not np.allclose(plain.decision_function(X), model.decision_function(X))\n"
    python(site, start + SAVE_AND_LOAD + plain)
    more = "model.partial_fit(X[y == 6], y[y == 6])\nassert 6 in model.predict(X[y == 6])\n"
    python(site, "NAME = 'fading'\n" + TASKS + LOAD + more)


@pytest.mark.parametrize("title", ["A method", "A backbone", "A data set", "A forgetting policy"])
def test_a_recipe_is_one_file_and_one_entry_point(title: str) -> None:
    assert len(blocks(section(title), "python")) == 1
    (points,) = blocks(section(title), "toml")
    (group,) = tomllib.loads(points)["project"]["entry-points"].values()
    assert len(group) == 1
