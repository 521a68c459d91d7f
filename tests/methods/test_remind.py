import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from clsnet.checks import method_checks
from clsnet.errors import ClsnetError
from clsnet.evaluation.summaries import Summary
from clsnet.extractor.backbones.weights import read_weights, write_weights
from clsnet.methods import check_options
from clsnet.methods.common.residual import Residual
from clsnet.methods.remind import METHOD, REMIND, ProductQuantiser, balanced, cropped
from clsnet.reporting.forms import form_of

SMALL = {"codebooks": 16, "codebook_size": 20, "replayed_maps": 20, "device": "cpu"}
BYTES = 16  # of the codes of an image: one place, 16 codebooks
ROOM = 60
MEGABYTES = ROOM * BYTES / 2**20
PLACES = {"conv1": "1.0", "bn1": "1.1", "layer1": 2, "layer2": 3, "layer3": 4, "layer4": 5}
CHECKS = [check.name for check in method_checks(METHOD)]


@pytest.fixture(scope="module")
def file(write_network, tmp_path_factory, tasks):
    """A network with the statistics of images, as a trained one has them."""
    path = Path(write_network(tmp_path_factory.mktemp("weights") / "base.safetensors"))
    about, state = read_weights(path)
    network = residual(about, state).train()
    torch.manual_seed(0)
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(layer.bias, std=0.1)
            layer.momentum = 1.0
    with torch.no_grad():
        network(normalised(tasks[3].X_train[:100] * 15))
    write_weights(path, about, {name: each.numpy() for name, each in network.state_dict().items()})
    return str(path)


def residual(about, state):
    network = Residual(18, about.small, 8)
    network.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
    return network


def normalised(X):
    """Grey images as the network sees them."""
    grey = torch.from_numpy(X.astype(np.float32) / 255)[:, None].expand(-1, 3, -1, -1)
    return (grey - 0.5) / 0.25


@pytest.fixture(scope="module")
def checks(file):
    options = {"backbone": file, "megabytes": MEGABYTES, **SMALL, "epochs": 3, "batch_size": 60}
    return {check.name: check for check in method_checks(METHOD, **options)}


@pytest.mark.parametrize("check", CHECKS)
def test_it_keeps_the_promises_of_all_methods(checks, check):
    checks[check]()


def bright(task, n=30):
    return task.X_train[:n] * 15, task.y_train[:n]


@pytest.fixture(scope="module")
def learned(tasks, file):
    """A learner of three tasks, and what its frozen parts were after each."""
    model = REMIND(backbone=file, epochs=1, megabytes=MEGABYTES, **SMALL)
    states = []
    for task in tasks[:3]:
        model.partial_fit(*bright(task))
        lower = {name: each.clone() for name, each in model.net.lower.state_dict().items()}
        states.append(
            (lower, model.quantiser.centroids.clone(), model.net.body[0].conv1.weight + 0)
        )
    return model, states


# ------------------------------------------------------------------------------- codes


def test_codes_are_those_of_the_nearest_entries():
    random = torch.Generator().manual_seed(0)
    maps = torch.randn(5, 6, 3, 2, generator=random)
    centroids = torch.randn(2, 7, 3, generator=random)
    quantiser = ProductQuantiser(centroids)
    codes = quantiser.encode(maps)
    assert (codes.dtype, codes.shape) == (torch.uint8, (5, 3, 2, 2))
    decoded = quantiser.decode(codes)
    assert decoded.shape == maps.shape
    for i, row, column, book in np.ndindex(5, 3, 2, 2):
        channels = slice(3 * book, 3 * book + 3)
        part = maps[i, channels, row, column]
        nearest = min(centroids[book], key=lambda entry: float(((entry - part) ** 2).sum()))
        torch.testing.assert_close(decoded[i, channels, row, column], nearest, rtol=0, atol=0)


def test_codebooks_are_a_fixed_point_of_k_means_and_few_rows_are_taken_as_they_are():
    random = torch.Generator().manual_seed(0)
    centres = torch.tensor([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    rows = centres.repeat(40, 1) + 0.1 * torch.randn(120, 2, generator=random)
    maps = rows.view(30, 2, 2, 2).movedim(3, 1)
    quantiser = ProductQuantiser.learned(maps, codebooks=1, size=8, random=random)
    codes = quantiser.encode(maps).flatten()
    for code in codes.unique().tolist():
        mean = maps.movedim(1, 3).reshape(-1, 2)[codes == code].mean(dim=0)
        torch.testing.assert_close(quantiser.centroids[0, code], mean, rtol=1e-3, atol=1e-2)
    few = ProductQuantiser.learned(maps[:1], codebooks=2, size=8, random=random)
    torch.testing.assert_close(few.decode(few.encode(maps[:1])), maps[:1], rtol=0, atol=0)
    assert few.centroids.shape == (2, 8, 1)


def test_codebooks_and_lower_layers_never_change_and_upper_ones_do(learned, file):
    _, state = read_weights(Path(file))
    (lower, centroids, _), *others = learned[1]
    for name, array in state.items():
        stage, _, rest = name.partition(".")
        if stage != "fc" and not name.startswith("layer4.1"):
            same = lower[f"{PLACES[stage]}.{rest}"]
            np.testing.assert_array_equal(same, array, err_msg=name)
    for after, books, _ in others:
        assert torch.equal(books, centroids)
        assert after.keys() == lower.keys()
        assert all(torch.equal(after[name], lower[name]) for name in lower)
    weights = [state["layer4.1.conv1.weight"], *(weight for *_, weight in learned[1])]
    for before, after in itertools.pairwise(weights):
        assert not np.array_equal(before, after.detach())


def test_an_untrained_network_without_loss_in_its_codes_is_the_pretrained_one(file, tasks):
    model = REMIND(backbone=file, epochs=0, **{**SMALL, "codebook_size": 256})
    X, y = bright(tasks[0])
    model.partial_fit(X, y)  # with an entry for every image
    network = residual(*read_weights(Path(file))).eval()
    with torch.no_grad():
        expected = model.net.head(network.embed(normalised(X)))
        found = model.scores(model.as_input(X))
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


# ------------------------------------------------------------------------------ buffer


def test_the_buffer_has_its_bytes_and_as_many_of_each_class(learned):
    model, _ = learned
    assert model.exemplars.X.dtype == torch.uint8
    assert model.exemplars.X.shape == (ROOM, 1, 1, 16)
    assert torch.bincount(model.exemplars.y).tolist() == [10] * 6
    memory = model.memory()
    assert memory.exemplar_mb == MEGABYTES
    network = sum(tensor.numel() for tensor in model.net.state_dict().values())
    assert memory.model_mb == 4 * (network + 20 * 512) / 2**20
    assert memory.backbone_mb == 0


def test_the_default_room_is_that_of_2000_samples():
    assert round(2000 * 784 * 4 / 2**20, 2) == REMIND.megabytes
    assert REMIND.megabytes * 2**20 // (8 * 8 * REMIND.codebooks) == 3061  # images of 64x64 pixels


def test_rows_are_drawn_in_turns_until_there_is_no_room():
    y = torch.tensor([2] * 50 + [0] * 3 + [1] * 20)
    random = torch.Generator().manual_seed(0)
    for room, expected in ((9, [3, 3, 3]), (30, [3, 14, 13]), (99, [3, 20, 50]), (0, [0, 0, 0])):
        rows = balanced(y, room, random)
        found = torch.bincount(y[rows], minlength=3).tolist()
        assert (found[0], sum(found)) == (expected[0], sum(expected))
        assert abs(found[1] - expected[1]) <= 1
        assert len(rows.unique()) == len(rows)
    first, second = (balanced(y, 9, random) for _ in range(2))
    assert not torch.equal(first, second)


# ---------------------------------------------------------------------------- training


@torch.no_grad()
def test_the_loss_is_that_of_new_maps_and_of_mixed_old_ones(learned, tasks, monkeypatch):
    model, _ = learned
    monkeypatch.setattr(model, "crops", False)
    monkeypatch.setattr(model, "mixup", 9.0)
    monkeypatch.setattr(model, "random", torch.Generator().manual_seed(3))
    torch.manual_seed(2)
    share = float(torch.distributions.Beta(9.0, 9.0).sample())
    model.net.eval()
    codes = model.encode(model.as_input(bright(tasks[2], 4)[0]))
    y = torch.tensor([4, 5, 4, 4])
    drawn = torch.rand(40, generator=torch.Generator().manual_seed(3)).mul(ROOM).long()
    total = 0.0
    for code, label in zip(codes, y.tolist(), strict=True):
        scores = model.net(model.quantiser.decode(code[None]))[0]
        total -= float(scores.log_softmax(0)[label]) / 24
    old, labels = model.quantiser.decode(model.exemplars.X[drawn]), model.exemplars.y[drawn]
    for i in range(20):
        scores = model.net(share * old[i : i + 1] + (1 - share) * old[20 + i : 21 + i])[0]
        chances = scores.log_softmax(0)
        total -= float(share * chances[labels[i]] + (1 - share) * chances[labels[20 + i]]) / 24
    assert len(set(labels.tolist())) == 6
    torch.manual_seed(2)
    assert float(model.loss(codes, y)) == pytest.approx(total, rel=1e-4)


def test_a_crop_is_a_stretched_part_of_the_map():
    side = torch.linspace(-1, 1, 9)[:-1] + 0.125  # the middles of eight places
    maps = torch.stack([side.expand(8, 8), side[:, None].expand(8, 8)]).expand(200, 2, 8, 8)
    found = cropped(maps, torch.Generator().manual_seed(0))
    right, down = found[:, 0, 4], found[:, 1, :, 4]
    sizes = [(each.amax(1) - each.amin(1)) / 1.75 for each in (right, down)]
    area = sizes[0] * sizes[1]
    inner = (found.abs() < 0.874).flatten(1).all(dim=1)  # where no border is repeated
    assert inner.sum() > 40
    assert 2 / 7 - 1e-3 < area[inner].min() < 0.35
    ratio = (sizes[0] / sizes[1])[inner]
    assert 0.75 - 1e-3 < ratio.min() < 0.8 < 1.25 < ratio.max() < 4 / 3 + 1e-3
    steps = right[inner].diff(dim=1)
    torch.testing.assert_close(steps, steps[:, :1].expand_as(steps), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("options", [{"mixup": 0.0}, {"megabytes": 0.0}, {"batch_size": 1}])
def test_mixing_and_replay_can_be_switched_off_and_one_image_be_learned_at_a_time(
    options, file, tasks
):
    model = REMIND(backbone=file, epochs=1, **{**SMALL, **options})
    for task in tasks[:2]:
        model.partial_fit(*bright(task, 6))
    assert set(model.predict(bright(tasks[0])[0])) <= set(model.labels)
    assert (len(model.exemplars) == 0) == ("megabytes" in options)


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"backbone": None}, r"remind needs --backbone FILE\.safetensors, of clsnet pretrain\.$"),
        ({"backbone": "hf:vit"}, r"remind needs --backbone FILE\.safetensors"),
        ({"backbone": "no/such.safetensors"}, r"no/such\.safetensors"),
        ({"form": "frozen"}, r"form='frozen': remind trains the last block; use form='tuned'\.$"),
        ({"codebooks": 30}, r"codebooks=30: resnet18 has 512 channels, .* use 32\.$"),
        ({"codebook_size": 257}, r"codebook_size=257: use a number from 1 to 256\.$"),
        ({"megabytes": -1.0}, r"megabytes=-1\.0: use a number of 0 or more\.$"),
    ],
)
def test_bad_options_are_one_line_before_training(wrong, message, file):
    with pytest.raises(ClsnetError, match=message) as caught:
        check_options(METHOD, {"backbone": file, **SMALL, **wrong})
    assert "\n" not in str(caught.value)


def test_vectors_are_refused_and_nothing_is_learned(file, vectors):
    model = REMIND(backbone=file, **SMALL)
    with pytest.raises(ClsnetError, match="form='tuned' needs images"):
        model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert model.task == 0


def test_its_form_is_a_network_that_is_trained():
    assert METHOD.forms == ("tuned",)
    assert form_of(Summary("TinyImageNet-100/10", "remind", None, "agnostic", False, [])) == "T"
