import json

import pytest
import safetensors.torch
import torch

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
STATE = {"a.weight": torch.arange(6.0).reshape(2, 3), "a.count": torch.tensor(7)}


def test_weights_come_back_as_they_were(tmp_path):
    write_weights(tmp_path / "w.safetensors", ABOUT, STATE)
    about, state = read_weights(tmp_path / "w.safetensors")
    assert about == ABOUT == read_about(tmp_path / "w.safetensors")
    assert state.keys() == STATE.keys()
    assert all(torch.equal(state[name], STATE[name]) for name in STATE)


def test_weights_need_not_be_contiguous_nor_free_of_gradients(tmp_path):
    odd = {"w": torch.nn.Parameter(torch.arange(6.0).reshape(2, 3)).T}
    write_weights(tmp_path / "w", ABOUT, odd)
    assert torch.equal(read_weights(tmp_path / "w")[1]["w"], odd["w"])


def test_accuracy_may_be_unknown(tmp_path):
    about = About("resnet50", False, 224, (0.0,) * 3, (1.0,) * 3, "simsiam", "folder", ())
    write_weights(tmp_path / "w", about, STATE)
    assert read_about(tmp_path / "w").accuracy is None


def test_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(ClsnetError, match=r"cannot read the weights .*absent: No such file"):
        read_weights(tmp_path / "absent")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("weights")
    safetensors.torch.save_file(STATE, tmp_path / "other.safetensors")
    for name in ("text", "other.safetensors"):
        with pytest.raises(ClsnetError, match=f"{name} does not hold weights of clsnet pretrain"):
            read_weights(tmp_path / name)


def test_cut_file_is_refused(tmp_path):
    path = tmp_path / "w"
    write_weights(path, ABOUT, {"w": torch.zeros(1000)})
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ClsnetError, match=r"w (is damaged|does not hold)"):
        read_weights(path)


def test_what_a_file_says_about_itself_is_plain_json(tmp_path):
    write_weights(tmp_path / "w", ABOUT, STATE)
    with safetensors.safe_open(tmp_path / "w", framework="pt") as file:
        assert json.loads(file.metadata()["about"])["classes"] == ["cat", "dog, hound"]


def test_fingerprint_knows_values_names_shapes_and_kinds_but_not_layout_or_order():
    same = dict(reversed({k: v.clone() for k, v in STATE.items()}.items()))
    same["a.weight"] = same["a.weight"].T.contiguous().T
    assert fingerprint(same) == fingerprint(STATE)
    weight = STATE["a.weight"]
    others = [
        {**STATE, "a.weight": weight + 1e-6},
        {**STATE, "a.weight": weight.reshape(3, 2)},
        {**STATE, "a.weight": weight.int()},
        {"b.weight": weight, "a.count": STATE["a.count"]},
        {"a.weight": weight},
    ]
    digests = {fingerprint(state) for state in [STATE, *others]}
    assert len(digests) == 6
