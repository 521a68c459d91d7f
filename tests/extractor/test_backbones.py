"""Backbones by name: ours, and those of other packages by their entry points."""

import subprocess
import sys

import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.extractor import Identity, Patches
from clsnet.extractor.backbones import (
    GROUP,
    OURS,
    SOURCES,
    Columns,
    auto_backbone,
    backbone_class,
    is_registered,
    resolve_backbone,
)


@pytest.mark.parametrize(
    "name, shape, kind",
    [
        ("auto", (64,), Columns),
        ("auto", (8, 8), Patches),
        ("auto", (3, 8, 8), Patches),
        ("identity", (8, 8), Identity),
        ("patches", (8, 8), Patches),
    ],
)
def test_backbone_is_found_by_name_or_by_the_shape_of_a_sample(name, shape, kind):
    assert type(resolve_backbone(name, shape)) is kind


def test_backbone_given_as_an_object_is_used_as_it_is():
    backbone = Patches(filters=2)
    assert resolve_backbone(backbone, (8, 8)) is backbone


KNOWN = ("identity", "patches", "FILE.safetensors", *SOURCES, "efficientnet-lite2")


@pytest.mark.parametrize("wrong, near", [("patch", "patches"), ("Identity", "identity"), ("?", "")])
def test_unknown_backbone_names_the_nearest_and_all_known(wrong, near):
    with pytest.raises(ClsnetError) as refusal:
        resolve_backbone(wrong, (8, 8))
    assert f"did you mean '{near}" in str(refusal.value)
    assert all(name in str(refusal.value) for name in KNOWN)


@pytest.mark.parametrize("name", ["resnet", "callable", "identity:2", "patches:", "?:?"])
def test_names_with_too_much_or_too_little_are_unknown(name):
    with pytest.raises(ClsnetError, match="unknown backbone"):
        resolve_backbone(name, (8, 8))


@pytest.mark.parametrize("name", SOURCES)
def test_a_network_of_many_needs_to_know_which(name):
    for form in (name, f"{name}:"):
        with pytest.raises(
            ClsnetError, match=f"{name} needs to know which: {name}:{SOURCES[name]}"
        ):
            resolve_backbone(form, (3, 8, 8))


@pytest.mark.parametrize("wrong", [None, 3, ["patches"], Patches])
def test_what_is_neither_a_name_nor_a_function_is_refused(wrong):
    with pytest.raises(ClsnetError, match="a backbone is a name, a Backbone or a function"):
        resolve_backbone(wrong, (8, 8))


@pytest.mark.parametrize("name", sorted({*OURS} - {"hf", "timm"}))
def test_the_class_of_every_name_in_a_file_has_that_name(name):
    assert backbone_class(name).name == name


def test_a_name_in_a_file_that_is_not_installed_is_named():
    with pytest.raises(ClsnetError, match="the backbone 'gone' is not installed here"):
        backbone_class("gone")


def test_what_a_photograph_is_given():
    assert auto_backbone((3, 96, 96)) == "efficientnet-lite0"
    assert auto_backbone((1, 96, 96)) == auto_backbone((3, 95, 96)) == "patches"


PLUGIN = """
import numpy as np
from clsnet.extractor.backbones.base import Backbone

class Sum(Backbone):
    name = "sum"
    def __init__(self, axis: str = "all", views: int = 1) -> None:
        self.axis, self.views = axis, views
    def fit(self, X, random):
        pass
    def as_input(self, X):
        return np.array(X, np.float32)
    def transform(self, X):
        return X.reshape(len(X), -1).sum(axis=1, keepdims=True)

class NoBackbone:
    pass

def means(X):
    return X.reshape(len(X), -1).mean(axis=1, keepdims=True)
"""
POINTS = {
    "sum": "a_plugin:Sum",
    "means": "a_plugin:means",
    "other": "a_plugin:NoBackbone",
    "broken": "a_plugin:gone",
}


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """An installed package with backbones."""
    (tmp_path / "a_plugin.py").write_text(PLUGIN)
    folder = tmp_path / "a_plugin-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.0\n")
    lines = [f"[{GROUP}]", *(f"{name} = {value}" for name, value in POINTS.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("a_plugin", None)


@pytest.mark.usefixtures("plugin")
class TestEntryPoints:
    def test_a_class_is_built_with_the_options_that_it_takes(self):
        backbone = resolve_backbone("sum", (8, 8), taps="last", views=8)
        assert (backbone.axis, backbone.views) == ("all", 8)
        np.testing.assert_array_equal(backbone.transform(backbone.as_input(np.ones((2, 3)))), 3)

    def test_what_follows_the_colon_is_the_first_argument(self):
        assert resolve_backbone("sum:rows:2", (8, 8)).axis == "rows:2"

    def test_a_function_is_wrapped_and_found_again(self):
        backbone = resolve_backbone("means", (8, 8))
        np.testing.assert_array_equal(backbone.transform(np.ones((2, 4))), 1)
        assert is_registered(backbone) and backbone.config == {"function": "means"}
        with pytest.raises(ClsnetError, match="'means' is a function and takes no 'source'"):
            resolve_backbone("means:source", (8, 8))

    def test_a_registered_class_can_be_named_in_a_file(self):
        backbone = resolve_backbone("sum", (8, 8))
        assert is_registered(backbone)
        assert type(backbone_class("sum")(**backbone.config)) is type(backbone)

        class Sum(type(backbone)):
            pass

        assert not is_registered(Sum())

    def test_entry_points_are_among_the_known_names(self):
        with pytest.raises(ClsnetError, match=r"did you mean 'means'\?.*broken, means, other, sum"):
            resolve_backbone("meanz", (8, 8))

    def test_a_class_of_something_else_is_refused(self):
        with pytest.raises(ClsnetError, match="'other' is a class that is no subclass of Backbone"):
            resolve_backbone("other", (8, 8))
        with pytest.raises(ClsnetError, match="'other' is not installed here"):
            backbone_class("other")

    def test_an_entry_point_that_fails_is_one_line(self):
        with pytest.raises(ClsnetError, match=r"'broken' \(a_plugin:gone\) fails") as refusal:
            resolve_backbone("broken", (8, 8))
        assert "\n" not in str(refusal.value)

    def test_no_entry_point_takes_the_place_of_ours(self):
        assert resolve_backbone("identity", (8, 8)).name == "identity"

    def test_missing_arguments_are_one_line(self, monkeypatch):
        kind = backbone_class("sum")

        class Picky(kind):
            def __init__(self, axis):
                self.axis = axis

        monkeypatch.setattr("a_plugin.Sum", Picky)
        with pytest.raises(ClsnetError, match="the backbone 'sum': missing a required argument"):
            resolve_backbone("sum", (8, 8))


def test_a_backbone_that_is_not_registered_is_told_from_one_that_is():
    class Mine(Identity):
        name = "mine"

    class Impostor(Identity):
        pass

    assert is_registered(Identity())
    assert not is_registered(Mine())
    assert not is_registered(Impostor())


def test_only_the_module_of_the_backbone_that_is_asked_for_is_imported():
    code = """
import sys
from clsnet.extractor.backbones import resolve_backbone
resolve_backbone("patches", (8, 8))
print(*(name for name in sys.modules if name.startswith("clsnet.extractor.backbones")))
print(*({"torch", "sklearn", "scipy", "onnx", "PIL"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    modules, foreign = done.stdout.splitlines()
    names = {module.rpartition(".")[2] for module in modules.split()}
    needed = {"patches", "patch_filters", "cells", "responses"}
    assert names == {"backbones", "base", "columns", "identity", *needed}
    assert foreign == ""
