import copy

import pytest
import torch
from torch import nn

from clsnet.errors import ClsnetError
from clsnet.pretraining.checkpoint import Checkpoint
from clsnet.pretraining.muon import Group, Muon

RUN = {"network": "resnet18", "classes": ("cat", "dog"), "mean": (0.1, 0.25, 1 / 3), "epochs": 60}


@pytest.fixture
def model():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 2))
    layers[3].bias.requires_grad_(False)
    return layers.to(memory_format=torch.channels_last)


def optimiser_of(model):
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return Muon([Group(weights[1:], 0.1)], Group(weights[:1], 0.1), momentum=0.9)


def step(model, optimiser, seed):
    x = torch.randn(5, 3, 4, 4, generator=torch.Generator().manual_seed(seed))
    model.zero_grad()
    model(x).square().sum().backward()
    optimiser.step()


@pytest.fixture
def written(model, tmp_path):
    fresh = copy.deepcopy(model)
    optimiser = optimiser_of(model)
    step(model, optimiser, 0)
    checkpoint = Checkpoint(tmp_path / "w.checkpoint", RUN)
    checkpoint.write(model, optimiser, 7)
    return checkpoint, fresh, optimiser


def test_without_a_file_training_starts_at_the_beginning(model, tmp_path):
    assert Checkpoint(tmp_path / "none", RUN).restore(model, optimiser_of(model)) == 0


def test_the_next_step_is_the_same_after_restoring(model, written):
    checkpoint, fresh, optimiser = written
    again = optimiser_of(fresh)
    assert Checkpoint(checkpoint.path, RUN).restore(fresh, again) == 7
    step(model, optimiser, 1)
    step(fresh, again, 1)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, fresh.state_dict()[name]), name
    assert fresh[0].weight.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"epochs": 61}, r"with other epochs \(60\):"),
        ({"classes": ("cat", "cow")}, "with other classes:"),
        ({"epochs": 61, "network": "resnet50"}, r"with other network \('resnet18'\):"),
        ({"mean": (0.1, 0.25, 0.3333)}, "with other mean:"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(written, change, named):
    checkpoint, fresh, _ = written
    optimiser = optimiser_of(fresh)
    before = copy.deepcopy(fresh.state_dict())
    with pytest.raises(ClsnetError, match=named) as error:
        Checkpoint(checkpoint.path, {**RUN, **change}).restore(fresh, optimiser)
    assert str(checkpoint.path) in str(error.value)
    assert "\n" not in str(error.value)
    assert all(torch.equal(before[name], tensor) for name, tensor in fresh.state_dict().items())


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "text", "foreign", "folder"])
def test_a_file_that_is_no_checkpoint_is_refused(written, damage):
    checkpoint, fresh, _ = written
    whole = checkpoint.path.read_bytes()
    if damage == "folder":
        checkpoint.path.unlink()
        checkpoint.path.mkdir()
    else:
        contents = {
            "empty": b"",
            "cut": whole[:-10],
            "flipped": whole[:-10] + bytes([whole[-10] ^ 1]) + whole[-9:],
            "text": b"hello",
            "foreign": whole.replace(b"clsnet-pretraining", b"somebody-else-----"),
        }
        checkpoint.path.write_bytes(contents[damage])
    reason = r"not a checkpoint of clsnet pretrain; remove it|Is a directory"
    with pytest.raises(ClsnetError, match=reason):
        checkpoint.restore(fresh, optimiser_of(fresh))
