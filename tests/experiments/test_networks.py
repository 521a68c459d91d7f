from pathlib import Path

import pytest

from clsnet.data import load_sequence
from clsnet.errors import ClsnetError
from clsnet.experiments import networks
from clsnet.experiments.networks import ON_IMAGENET, network_of, pretrain_to

SOME = load_sequence("Digits-8/4")


def test_without_a_gpu_the_command_is_told(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(networks, "_has_gpu", lambda: False)
    path = tmp_path / "networks/Digits-8/seed1/resnet50-simsiam.safetensors"
    with pytest.raises(ClsnetError) as error:
        network_of("resnet50-simsiam", SOME, 1, tmp_path, None)
    assert str(error.value).endswith(
        f"clsnet pretrain Digits-8/4 --backbone resnet50 --objective simsiam --seed 1 --out {path}"
    )


def test_a_network_that_is_there_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "networks/Digits-8/seed0/resnet18.safetensors"
    path.parent.mkdir(parents=True)
    path.touch()
    assert network_of("resnet18", SOME, 0, tmp_path, None) == str(path)


def test_a_sequence_of_all_classes_leaves_none_to_pretrain_on(tmp_path: Path) -> None:
    assert network_of("resnet18", load_sequence("Digits-10/5"), 0, tmp_path, None) == ON_IMAGENET


def test_a_network_is_pretrained_on_the_classes_left_over(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from clsnet.extractor.backbones import resolve_backbone

    path = tmp_path / "deep/resnet18.safetensors"
    pretrain_to(path, "resnet18", SOME, 0, None, epochs=1)
    network = resolve_backbone(str(path), (8, 8))
    assert set(network.seen_classes) == {str(c) for c in SOME.base_classes(0)}
    assert [file.name for file in path.parent.iterdir()] == [path.name]
