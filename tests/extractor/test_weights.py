import json

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.weights import (
    About,
    fingerprint,
    read_about,
    read_weights,
    write_weights,
)

ABOUT = About(
    network="resnet18",
    small=True,
    size=64,
    mean=(0.4, 0.5, 0.6),
    deviation=(0.1, 0.2, 0.3),
    objective="supervised",
    dataset="TinyImageNet",
    classes=("cat", "dog, hound"),
    accuracy=0.75,
)
STATE = {
    "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "a.count": np.array(7),
}


def test_weights_come_back_as_they_were(tmp_path):
    write_weights(tmp_path / "w.safetensors", ABOUT, STATE)
    about, state = read_weights(tmp_path / "w.safetensors")
    assert about == ABOUT == read_about(tmp_path / "w.safetensors")
    assert state.keys() == STATE.keys()
    assert all(np.array_equal(state[name], STATE[name]) for name in STATE)


def test_weights_need_not_be_contiguous_nor_free_of_gradients(tmp_path):
    write_weights(tmp_path / "w", ABOUT, {"w": STATE["a.weight"].T})
    assert np.array_equal(read_weights(tmp_path / "w")[1]["w"], STATE["a.weight"].T)
    torch = pytest.importorskip("torch")
    odd = {"w": torch.nn.Parameter(torch.arange(6.0).reshape(2, 3)).T}
    write_weights(tmp_path / "w", ABOUT, odd)
    assert np.array_equal(read_weights(tmp_path / "w")[1]["w"], odd["w"].detach())


def test_accuracy_may_be_unknown(tmp_path):
    about = About("resnet50", False, 224, (0.0,) * 3, (1.0,) * 3, "simsiam", "folder", ())
    write_weights(tmp_path / "w", about, STATE)
    assert read_about(tmp_path / "w").accuracy is None


def test_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(ClsnetError, match=r"cannot read the weights .*absent: No such file"):
        read_weights(tmp_path / "absent")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("weights")
    safetensors.numpy.save_file(STATE, tmp_path / "other.safetensors")
    for name in ("text", "other.safetensors"):
        with pytest.raises(ClsnetError, match=f"{name} does not hold weights of clsnet pretrain"):
            read_weights(tmp_path / name)


def test_cut_file_is_refused(tmp_path):
    path = tmp_path / "w"
    write_weights(path, ABOUT, {"w": np.zeros(1000)})
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ClsnetError, match=r"w (is damaged|does not hold)"):
        read_weights(path)


def test_what_a_file_says_about_itself_is_plain_json(tmp_path):
    write_weights(tmp_path / "w", ABOUT, STATE)
    with safetensors.safe_open(tmp_path / "w", framework="np") as file:
        assert json.loads(file.metadata()["about"])["classes"] == ["cat", "dog, hound"]


def test_fingerprint_knows_values_names_shapes_and_kinds_but_not_layout_or_order():
    same = dict(reversed({k: v.copy() for k, v in STATE.items()}.items()))
    same["a.weight"] = np.asfortranarray(same["a.weight"])
    assert fingerprint(same) == fingerprint(STATE)
    weight = STATE["a.weight"]
    others = [
        {**STATE, "a.weight": weight + 1e-6},
        {**STATE, "a.weight": weight.reshape(3, 2)},
        {**STATE, "a.weight": weight.astype(np.int32)},
        {"b.weight": weight, "a.count": STATE["a.count"]},
        {"a.weight": weight},
    ]
    digests = {fingerprint(state) for state in [STATE, *others]}
    assert len(digests) == 6


def test_fingerprints_are_those_of_the_first_version():
    """It called the types of numbers by their names in torch, and models refer to fingerprints."""
    assert fingerprint(STATE) == "7f66a4f4850c13d5a04d7b3364518933"
