import numpy as np
import pytest
import torch
from torch import nn

from clsnet.checks import method_checks
from clsnet.data import load_folder
from clsnet.extractor.backbones import resolve_backbone
from clsnet.methods import ExtractorLearner, get_method, methods
from clsnet.methods.common.auxiliary_images import synthetic_images
from clsnet.methods.common.network import GrowingNetwork
from clsnet.methods.common.phase import Phase
from clsnet.methods.common.trainer import Trainer
from clsnet.methods.dmc import DMC
from clsnet.methods.ewc import EWC
from clsnet.methods.il2m import IL2M
from clsnet.methods.none import FineTuning
from clsnet.methods.rm import RM

SMALL = {"hidden": (16,), "epochs": 2, "batch_size": 20, "device": "cpu"}


@pytest.mark.parametrize("kind", [EWC, RM])
def test_images_on_disk_are_learned_and_predicted_like_their_pixels(shapes_folder, kind):
    data = load_folder(shapes_folder)
    models = [kind(**SMALL), kind(**SMALL)]
    for classes in ([0, 1], [2, 3]):
        task = np.isin(data.y_train, classes)
        for model, X in zip(models, (data.X_train, np.asarray(data.X_train)), strict=True):
            model.partial_fit(X[task], data.y_train[task])
    lazy, plain = models
    assert lazy.scale == plain.scale == np.asarray(data.X_train)[data.y_train < 2].max()
    np.testing.assert_array_equal(lazy.predict(data.X_test), plain.predict(np.asarray(data.X_test)))


# ----------------------------------------------------------------- what a method can use


class Looking(FineTuning):
    """Looks at the network before the head grew."""

    def fit_task(self, X, y):
        self.outputs = None if self.old_net is None else self.old_net(X)
        self.trains_old = self.old_net and [w.requires_grad for w in self.old_net.parameters()]
        super().fit_task(X, y)


def test_the_network_before_the_head_grew_is_there_while_a_task_is_learned(vectors):
    model = Looking(**SMALL).partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    assert model.outputs is None
    before = model.scores(model.as_input(vectors[1].X_train / 16))
    model.partial_fit(vectors[1].X_train / 16, vectors[1].y_train)
    torch.testing.assert_close(model.outputs, before)
    assert model.outputs.shape[1] == 2
    assert not any(model.trains_old)
    assert model.old_net is None


def test_features_are_what_goes_into_the_head(vectors):
    model = FineTuning(**SMALL).partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    x = model.as_input(vectors[0].X_train / 16)
    features = model.features(x)
    assert features.shape == (len(x), 16)
    torch.testing.assert_close(model.net.head(features), model.net(x))
    assert not features.requires_grad


def test_replayed_samples_are_the_exemplars_and_the_task(vectors):
    model = IL2M(budget=10, **SMALL).partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    X, y = torch.full((3, 64), 7.0), torch.tensor([1, 1, 0])
    both, codes = model.replayed(X, y)
    torch.testing.assert_close(both, torch.cat([model.exemplars.X, X]))
    assert codes[-3:].tolist() == [1, 1, 0]
    assert len(both) == len(codes) == 13


class Balanced(IL2M):
    """A second phase: the head alone, on the exemplars, with schedules of its own."""

    def fit_task(self, X, y):
        super().fit_task(X, y)
        self.body = self.net.body[0].weight.detach().clone()
        self.head = self.net.head.weight.detach().clone()
        self.rates, self.targets = [], []

        def loss(x, targets):
            self.targets.append(targets)
            self.rates.append([group["lr"] for group in groups.param_groups])
            return nn.functional.mse_loss(self.net(x), targets)

        parameters = [
            {"params": [self.net.head.weight], "schedule": lambda epoch: 0.5**epoch},
            {"params": [self.net.head.bias], "lr": 0.3},
        ]
        groups = torch.optim.SGD(parameters, lr=0.1)
        one_hot = nn.functional.one_hot(self.exemplars.y, len(self.labels)).float()
        phase = Phase(groups, loss, 3, schedule=lambda epoch: 1 - epoch / 4)
        self.train(self.exemplars.X, one_hot, phase)


def test_a_further_phase_has_parameters_loss_and_schedules_of_its_own(vectors):
    model = Balanced(budget=10, **SMALL)
    model.partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    torch.testing.assert_close(model.net.body[0].weight.detach(), model.body)
    assert not torch.allclose(model.net.head.weight.detach(), model.head)
    assert len(model.rates) == 3  # one batch of ten an epoch
    np.testing.assert_allclose(model.rates, [[0.1, 0.3], [0.05, 0.225], [0.025, 0.15]])
    assert all(targets.shape[1] == 2 for targets in model.targets)
    assert all(weight.grad is None for weight in model.net.parameters())


class Pulled(EWC):
    """A further phase must not be pulled back by the penalty of the first."""

    def fit_task(self, X, y):
        super().fit_task(X, y)
        optimiser = torch.optim.SGD(self.net.parameters(), lr=0.1)
        calls = self.__dict__.setdefault("calls", [])
        self.after_step = lambda: calls.append(1)
        self.train(X, y, Phase(optimiser, self.loss, 1))
        del self.after_step


def test_what_surrounds_a_step_belongs_to_its_phase(vectors):
    model = Pulled(**SMALL).partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    assert model.calls == []


class Normalised(FineTuning):
    """Any network with features and a head: here with a layer that has buffers."""

    def new_network(self, n_outputs):
        body = nn.Sequential(nn.Linear(self.n_inputs, 8), nn.BatchNorm1d(8), nn.ReLU())
        net = GrowingNetwork(body, 8)
        net.grow(n_outputs)
        return net


def test_any_network_is_trained_and_its_buffers_are_counted(vectors):
    model = Normalised(**SMALL).partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    right = model.predict(vectors[0].X_test / 16) == vectors[0].y_test
    assert right.mean() > 0.9
    weights, normalisation = 65 * 8 + 9 * 2, 2 * 8
    buffers = 2 * 8 + 1  # running mean, variance and number of batches
    assert model.memory().model_mb == 4 * (weights + normalisation + buffers) / 2**20


# ------------------------------------------------------------------------ frozen features


def pixels(X):
    """A frozen network that does nothing."""
    return X.reshape(len(X), -1) / 255


GRADIENT = [
    name
    for name, method in methods().items()
    if method.backbones and method.family != "ours" and not (method.presets or method.finetunes)
]
ON_ANY_FEATURES = [name for name in GRADIENT if get_method(name).needs is None]


def test_all_gradient_methods_take_a_backbone():
    trainers = [
        name
        for name, method in methods().items()
        if isinstance(method.load(), type)
        and issubclass(method.load(), Trainer)
        and not method.finetunes
    ]
    assert trainers == GRADIENT
    assert len(trainers) > 10


@pytest.mark.parametrize("name", ON_ANY_FEATURES)
def test_a_gradient_method_keeps_its_promises_on_frozen_features(name):
    small = {"hidden": (20,), "epochs": 2, "batch_size": 20, "device": "cpu"}
    small |= {"budget": 40} if "budget" in get_method(name).load().declared else {}
    small |= {"n_auxiliary": 50} if name == "dmc" else {}
    small |= {"width": 8, "tuning_epochs": 1} if name == "dytox" else {}
    checks = {
        check.name: check for check in method_checks(get_method(name), backbone=pixels, **small)
    }
    for promise in (
        "one_seed_gives_one_result",
        "prediction_ignores_the_rest_of_the_batch",
        "no_array_of_the_caller_is_kept",
        "memory_counts_every_array",
        "a_copy_goes_on_alike",
    ):
        checks[promise]()


def test_features_are_those_of_the_network_over_their_root_mean_square(
    tasks, write_network, tmp_path
):
    file = write_network(tmp_path / "w.safetensors")
    X, y = tasks[0].X_train * 15, tasks[0].y_train
    model = FineTuning(backbone=file, **SMALL).partial_fit(X, y)
    network = resolve_backbone(file, X.shape[1:], taps="last", views=1)
    network.fit(X[:1], np.random.RandomState(0))
    features = network.transform(network.as_input(X))
    found = model.as_input(X).numpy()
    np.testing.assert_allclose(
        found, features / np.sqrt((features**2).mean()), rtol=1e-3, atol=1e-4
    )
    assert found.shape[1] == 512
    assert model.net.body[0].in_features == 512
    # The scale is that of the first task, whatever comes later.
    model.partial_fit(tasks[1].X_train, tasks[1].y_train)
    np.testing.assert_array_equal(model.as_input(X), found)


def test_the_frozen_network_is_counted_apart_and_does_not_change(tasks, write_network, tmp_path):
    file = write_network(tmp_path / "w.safetensors")
    model = IL2M(backbone=file, budget=10, **SMALL)
    model.partial_fit(tasks[0].X_train * 15, tasks[0].y_train)
    before = model.as_input(tasks[1].X_test * 15)
    model.partial_fit(tasks[1].X_train * 15, tasks[1].y_train)
    torch.testing.assert_close(model.as_input(tasks[1].X_test * 15), before, rtol=0, atol=0)
    memory = model.memory()
    assert memory.backbone_mb > 40
    standardising = 2 * 512  # features, by those of synthetic images
    assert memory.model_mb == 4 * (513 * 16 + 17 * 4 + 3 * 4 + standardising) / 2**20
    assert memory.exemplar_mb == 4 * 8 * 512 / 2**20  # two of each class


def test_an_independent_model_shares_the_frozen_network_and_nothing_else(tasks):
    model = EWC(backbone=pixels, **SMALL).partial_fit(tasks[0].X_train * 15, tasks[0].y_train)
    twin, fresh = model.twin(), EWC(backbone=pixels, **SMALL)
    assert isinstance(model, ExtractorLearner)
    assert twin.extractor_ is model.extractor_
    for learner in (twin, fresh):
        learner.partial_fit(tasks[1].X_train * 15, tasks[1].y_train)
    for name, weight in fresh.net.named_parameters():
        torch.testing.assert_close(twin.net.get_parameter(name), weight, rtol=0, atol=0)


def test_pixels_have_no_extractor(tasks):
    model = EWC(**SMALL).partial_fit(tasks[0].X_train, tasks[0].y_train)
    assert not isinstance(model, ExtractorLearner)


def test_vectors_may_have_a_backbone_too(vectors):
    model = FineTuning(backbone="identity", **SMALL)
    model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert (model.predict(vectors[0].X_test) == vectors[0].y_test).mean() > 0.9


def test_auxiliary_images_go_through_the_frozen_network(tasks):
    model = DMC(backbone=pixels, n_auxiliary=20, merge_epochs=1, **SMALL)
    for task in tasks[:2]:
        model.partial_fit(task.X_train * 15, task.y_train)
    found = model.auxiliary_inputs(torch.zeros(1))
    expected = (synthetic_images(20, (8, 8)) * 255).round() / 255 / model.scale
    torch.testing.assert_close(found, expected)
