"""The tuned form: the network is a pretrained one, trained from its weights on."""

from pathlib import Path

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.evaluation.reachable import reachable_arrays
from clsnet.extractor.backbones import resolve_backbone
from clsnet.extractor.backbones.weights import read_weights
from clsnet.methods import check_options, get_method, methods
from clsnet.methods.common.penalty import summed_gradients
from clsnet.methods.common.residual import Residual
from clsnet.methods.common.tuned import Pixels, moved, pretrained_body
from clsnet.methods.ewc import EWC
from clsnet.methods.none import FineTuning
from clsnet.methods.rm import RM
from clsnet.methods.si import SI

COLOURS = np.array([[220, 30, 30], [30, 220, 30], [30, 30, 220], [220, 220, 30]])
TUNABLE = [name for name, method in methods().items() if method.tunable]


def coloured(classes, n, seed):
    random = np.random.RandomState(seed)
    y = np.repeat(classes, n)
    noise = random.randint(-30, 30, (len(y), 3, 8, 8))
    return (COLOURS[y][:, :, None, None] + noise).clip(0, 255).astype(np.uint8), y


@pytest.fixture(scope="module")
def file(write_network, tmp_path_factory):
    return write_network(tmp_path_factory.mktemp("weights") / "base.safetensors")


@pytest.fixture
def options(file):
    return {"backbone": file, "form": "tuned", "epochs": 1, "batch_size": 16, "device": "cpu"}


# -------------------------------------------------------------------------------- forms


def test_the_registry_and_the_class_agree_on_the_forms_of_a_method():
    assert {"none", "ewc", "rm"} <= set(TUNABLE)
    for name, method in methods().items():
        learner = method.load() if method.backbones and not method.presets else None
        assert method.tunable == getattr(learner, "tunable", False), name
    assert get_method("none").forms == ("pixels", "frozen", "tuned")
    assert get_method("owm").forms == ("pixels", "frozen")
    assert get_method("joint-finetuned").forms == ("tuned",)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("owm", {}, "form='tuned': OWM cannot train a backbone; use form='frozen'"),
        ("ewc", {"backbone": None}, "form='tuned' needs a backbone: a FILE.safetensors"),
        ("ewc", {"backbone": "identity"}, "form='tuned' needs a backbone: a FILE.safetensors"),
        ("ewc", {"backbone": "no/such.safetensors"}, "no/such.safetensors"),
        ("ewc", {"form": "thawed"}, "form='thawed': use 'frozen' or 'tuned'"),
        ("ewc", {"tuned_rate": -1}, "tuned_rate=-1: use a number of 0 or more"),
    ],
)
def test_what_cannot_be_tuned_is_refused_in_one_line_before_training(name, wrong, message, options):
    with pytest.raises(ClsnetError) as caught:
        check_options(get_method(name), {**options, **wrong})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_vectors_are_refused_and_nothing_is_learned(options, vectors):
    model = FineTuning(**options)
    with pytest.raises(ClsnetError, match="form='tuned' needs images"):
        model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert model.task == 0


# ------------------------------------------------------------------------ what it sees


def test_an_untrained_one_gives_the_features_of_the_frozen_network(file):
    X, _ = coloured([0, 1, 2, 3], 3, 0)
    grey = np.tile(X[:, :1], (1, 3, 1, 1))
    network = resolve_backbone(file, X.shape[1:], taps="last", views=1)
    body, width = pretrained_body(file)
    body.eval()
    for images, seen in ((X, X), (grey[:, 0], grey), (np.kron(X, np.ones((1, 1, 2, 2))), X)):
        bytes_ = images.astype(np.uint8)
        network.centre, network.factor = np.zeros(width), np.ones(width)
        frozen = network.transform(network.as_input(bytes_))
        x = torch.from_numpy(bytes_ if bytes_.ndim == 4 else bytes_[:, None])
        with torch.no_grad():
            found = body(x)
        np.testing.assert_allclose(found.sqrt(), frozen, rtol=1e-3, atol=1e-3)
        assert seen.shape[1] == 3
        assert found.shape == (len(X), width) == (12, 512)


def test_images_are_normalised_as_the_frozen_network_does_it(file):
    X, _ = coloured([0, 1], 2, 0)
    network = resolve_backbone(file, X.shape[1:], taps="last", views=1)
    pixels = Pixels(8, network.mean.ravel().tolist(), network.deviation.ravel().tolist())
    wanted = network.normalised(network.as_input(X), 8)
    np.testing.assert_allclose(pixels(torch.from_numpy(X)), wanted, rtol=1e-5, atol=1e-6)


def test_a_batch_is_mirrored_and_shifted_by_a_sixteenth_at_most():
    images = torch.arange(3 * 32 * 32).reshape(1, 3, 32, 32).expand(200, -1, -1, -1)
    found = moved(images, torch.Generator().manual_seed(0))
    padded = torch.nn.functional.pad(images[:1].float(), (2, 2, 2, 2), mode="replicate").long()[0]
    ways = {}
    for down in range(5):
        for right in range(5):
            part = padded[:, down : down + 32, right : right + 32]
            ways[down, right, 0], ways[down, right, 1] = part, part.flip(2)
    seen = [next(way for way, each in ways.items() if torch.equal(each, one)) for one in found]
    assert len(set(seen)) > 45
    assert 60 < sum(mirrored for *_, mirrored in seen) < 140


def test_fractions_are_learned_as_bytes(options):
    X, y = coloured([0, 1], 8, 0)
    ours, theirs = FineTuning(**options).partial_fit(X, y), FineTuning(**options)
    theirs.partial_fit(X / 255, y)
    for name, weight in ours.net.named_parameters():
        torch.testing.assert_close(theirs.net.get_parameter(name), weight, rtol=0, atol=0)


# --------------------------------------------------------------------------- training


def test_one_step_is_that_of_a_plain_loop(file, options):
    X, y = coloured([0, 1], 8, 0)
    model = FineTuning(**options)
    model.moved = []
    model.varied = lambda x: (model.moved.append(x), x)[1]
    model.partial_fit(X, y)
    assert len(model.moved) == 1

    _, state = read_weights(Path(file))
    literal = Residual(18, small=True, n_classes=8)
    literal.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
    head = FineTuning(**{**options, "epochs": 0}).partial_fit(X, y).net.head
    x = (model.moved[0].float() / 255 - 0.5) / 0.25
    codes = torch.from_numpy(np.array([0] * 8 + [1] * 8))
    images = torch.from_numpy(X)
    order = [int((images == one).flatten(1).all(1).nonzero()) for one in model.moved[0]]
    torch.nn.functional.cross_entropy(head(literal.embed(x)), codes[order]).backward()
    expected = literal.conv1.weight - 0.02 * literal.conv1.weight.grad
    torch.testing.assert_close(model.net.body[1][0].weight, expected, rtol=1e-4, atol=1e-6)


@pytest.fixture(scope="module")
def learned(file):
    # Mixed patches of plain colours would be nothing but mixed labels.
    options = {"epochs": 4, "batch_size": 8, "budget": 16, "mix": 0.0, "device": "cpu"}
    model = RM(backbone=file, form="tuned", **options)
    for number, classes in enumerate(([2, 0], [3, 1])):
        model.partial_fit(*coloured(classes, 32, number))
    return model


def test_classes_of_all_tasks_are_told_apart(learned):
    X, y = coloured([0, 1, 2, 3], 10, 9)
    assert np.mean(learned.predict(X) == y) > 0.7
    alone = [learned.predict(X[i : i + 1])[0] for i in (0, 11, 22, 33)]
    assert alone == learned.predict(X)[[0, 11, 22, 33]].tolist()


def test_exemplars_are_images_of_one_byte_a_pixel(learned):
    assert learned.exemplars.X.dtype == torch.uint8
    assert learned.exemplars.X.shape == (16, 3, 8, 8)
    assert learned.memory().exemplar_mb == 16 * 3 * 8 * 8 / 2**20


def test_the_network_counts_as_a_model_and_no_frozen_one_beside_it(learned):
    numbers = sum(tensor.numel() for tensor in learned.net.state_dict().values())
    assert 11e6 < numbers < 11.3e6
    assert learned.memory().model_mb == 4 * numbers / 2**20
    assert learned.memory().backbone_mb == 0


def test_a_last_image_does_not_make_a_batch_of_its_own(options):
    X, y = coloured([0, 1], 17, 0)
    model = FineTuning(**options).partial_fit(X[:33], y[:33])
    assert [len(rows) for rows in model.batches(33)] == [16, 17]
    assert [len(rows) for rows in model.batches(32)] == [16, 16]
    assert list(model.batches(0)) == []


@pytest.mark.parametrize("name", TUNABLE)
def test_a_method_keeps_its_promises_when_it_tunes_a_network(name, options):
    small = {"budget": 8} if hasattr(get_method(name).load(), "budget") else {}
    model, twin = (get_method(name).build(0, None, **options, **small) for _ in range(2))
    for learner in (model, twin):
        for number, classes in enumerate(([0, 1], [2, 3])):
            learner.partial_fit(*coloured(classes, 4, number))
    X, _ = coloured([0, 1, 2, 3], 2, 9)
    np.testing.assert_array_equal(model.predict(X), twin.predict(X))
    found, memory = reachable_arrays(model), model.memory()
    counted = round((memory.model_mb + memory.exemplar_mb) * 2**20 / 4)
    assert found.least <= counted <= found.most, str(found)
    if "budget" in small:
        assert model.exemplars.X.dtype == torch.uint8


# -------------------------------------------------------------------------- importance


@pytest.mark.parametrize("function", [torch.square, torch.abs])
def test_sums_over_samples_are_those_of_a_loop(options, function):
    X, y = coloured([0, 1], 3, 0)
    model = FineTuning(**options).partial_fit(X, y)
    x = model.as_input(X)
    fast = summed_gradients(model.net, x, lambda scores: scores.square().sum(), function)
    slow = {name: torch.zeros_like(weight) for name, weight in model.net.named_parameters()}
    for one in x:
        value = model.net(one[None]).square().sum()
        gradients = torch.autograd.grad(value, list(model.net.parameters()))
        for name, gradient in zip(slow, gradients, strict=True):
            slow[name] += function(gradient)
    assert fast.keys() == slow.keys()
    for name, total in slow.items():
        torch.testing.assert_close(fast[name], total, rtol=1e-2, atol=1e-3 * float(total.max()))


def test_the_fisher_information_of_a_drawn_label_is_right_on_average(options):
    X, y = coloured([0, 1], 3, 0)
    model = EWC(**{**options, "epochs": 0}).partial_fit(X, y)
    x = model.as_input(X[:2])
    features, p = model.features(x), model.net_scores(x).softmax(dim=1)
    value = model.drawn_likelihood
    scores = model.net.head(features).detach().requires_grad_()
    drawn = torch.zeros(2)
    for _ in range(500):
        drawn += torch.autograd.grad(value(scores), scores)[0].square().mean(dim=0) / 500
    exact = (p * (1 - p)).mean(dim=0)
    torch.testing.assert_close(drawn, exact, rtol=0.2, atol=0.01)
    assert features.shape == (2, 512)


def test_a_strong_penalty_holds_a_tuned_network(options):
    moves = []
    for strength in (0.0, 1e6):
        model = SI(strength=strength, **options).partial_fit(*coloured([0, 1], 16, 0))
        before = model.net.body[1][0].weight.detach().clone()
        model.partial_fit(*coloured([2, 3], 16, 1))
        moves.append(float((model.net.body[1][0].weight.detach() - before).norm()))
    assert moves[1] < moves[0] / 2
