import itertools

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods.rps_net import METHOD, ModuleSum, RPSNet

SMALL = {"hidden": (32, 24), "epochs": 2, "batch_size": 30, "device": "cpu"}


def scaled(task):
    return task.X_train / np.float32(16), task.y_train


def modules(model):
    """The weights of all modules used so far, by layer and number."""
    return {
        (depth, number): [weight.detach().clone() for weight in module.parameters()]
        for depth, layer in enumerate(model.net.body)
        for number, module in layer.used.items()
    }


@pytest.fixture(scope="module")
def learned(tasks):
    """A learner of five tasks among three modules per layer, and its modules after each."""
    model = RPSNet(budget=60, n_modules=3, **SMALL)
    states = []
    for task in tasks:
        model.partial_fit(*scaled(task))
        states.append(modules(model))
    return model, states


def test_modules_of_earlier_paths_do_not_change_by_a_bit(learned):
    _, states = learned
    for before, after in itertools.pairwise(states):
        for place, weights in before.items():
            assert all(map(torch.equal, weights, after[place]))
    assert len(states[0]) == 2  # one per layer
    assert len(states[-1]) > 4
    assert len(states[-1]) <= 6


def test_a_path_is_one_module_per_layer_drawn_by_the_seed(learned, tasks):
    paths = []

    class Watched(RPSNet):
        def new_network(self, n_outputs):
            net = super().new_network(n_outputs)
            take, net.take = net.take, lambda path: (paths.append(tuple(path)), take(path))
            return net

    for seed in (0, 0, 1, 2, 3):
        Watched(seed=seed, **{**SMALL, "epochs": 0}).partial_fit(*scaled(tasks[0]))
    assert paths[0] == paths[1]
    assert len(set(paths)) > 2
    assert all(0 <= number < 8 for path in paths for number in path)


def test_modules_of_the_newest_path_are_trained(tasks):
    model = RPSNet(n_modules=100, **SMALL).partial_fit(*scaled(tasks[0]))
    X, y = scaled(tasks[1])
    start = {}

    class Watched(RPSNet):
        def optimiser(self):
            start.update(modules(self))
            return super().optimiser()

    model.__class__ = Watched
    model.partial_fit(X, y)
    changed = {
        place
        for place, weights in modules(model).items()
        if not all(map(torch.equal, weights, start[place]))
    }
    assert {depth for depth, _ in changed} == {0, 1}
    assert len(changed) == 2
    newest = {(depth, list(layer.used)[-1]) for depth, layer in enumerate(model.net.body)}
    assert changed == newest


def test_a_path_of_used_modules_trains_the_head_alone(tasks):
    model = RPSNet(n_modules=1, **SMALL)
    model.partial_fit(*scaled(tasks[0]))
    before, head = modules(model), model.net.head.weight.detach().clone()
    model.partial_fit(*scaled(tasks[1]))
    after = modules(model)
    assert before.keys() == after.keys() == {(0, "0"), (1, "0")}
    assert all(map(torch.equal, before[0, "0"], after[0, "0"]))
    assert not torch.equal(model.net.head.weight[:2], head)


def test_inference_sums_all_modules_used_so_far(learned, tasks):
    model, _ = learned
    x = model.as_input(tasks[0].X_test[:20] / np.float32(16))
    seen = x
    for layer in model.net.body:
        seen = sum(module(seen).clamp(min=0) for module in layer.used.values())
    expected = model.net.head(seen)
    torch.testing.assert_close(model.scores(x), expected, rtol=1e-4, atol=1e-4)
    assert max(len(layer.used) for layer in model.net.body) == 3


def test_a_new_module_cannot_undo_what_frozen_ones_give():
    """The sum of linear modules is linear: a new one could be the old one's negative."""
    layer = ModuleSum(6, 3)
    layer.use(0)
    x = torch.rand(5, 6)
    before = layer(x).detach()
    layer.use(1)
    with torch.no_grad():
        for old, new in zip(
            layer.used["0"].parameters(), layer.used["1"].parameters(), strict=True
        ):
            new.copy_(-old)
    assert before.max() > 0
    assert (layer(x) >= before).all()


def test_the_loss_is_that_of_a_loop(tasks):
    found = []

    class Watched(RPSNet):
        def loss(self, x, y):
            loss = super().loss(x, y)
            if self.old_net is not None and not found:
                literal = 0.0
                for row, code in zip(x, y.tolist(), strict=True):
                    scores, old = self.net(row[None])[0], self.old_net(row[None])[0]
                    literal -= scores.log_softmax(0)[code]
                    before, now = (old / 2).softmax(0), (scores[: len(old)] / 2).softmax(0)
                    assert len(before) == 2
                    for p, q in zip(before, now, strict=True):
                        literal += 7.0 * p * torch.log(p / q)
                plain = torch.nn.functional.cross_entropy(self.net(x), y)
                found.append((loss, literal / len(y), plain))
            return loss

    model = Watched(budget=20, distillation=7.0, **SMALL)
    for task in tasks[:2]:
        model.partial_fit(*scaled(task))
    loss, literal, plain = found[0]
    torch.testing.assert_close(loss, literal, rtol=1e-4, atol=1e-5)
    assert loss > plain + 1e-3


def test_exemplars_are_repeated_and_the_old_network_is_the_one_that_predicted(tasks):
    seen = []

    class Watched(RPSNet):
        def train(self, X, y, phase=None):
            if self.old_net is not None:
                seen.append((torch.bincount(y).tolist(), self.old_net(X[:5])))
            super().train(X, y, phase)

    model = Watched(budget=20, repeats=3, **SMALL).partial_fit(*scaled(tasks[0]))
    x = model.exemplars.X[:5]
    before = model.net_scores(x)
    model.partial_fit(*scaled(tasks[1]))
    counts, old = seen[0]
    assert counts == [30, 30, *np.bincount(tasks[1].y_train)[[7, 8]]]
    torch.testing.assert_close(old, before)


def test_memory_counts_the_modules_used_so_far(learned):
    model, states = learned
    sizes = [65 * 32, 33 * 24]
    numbers = sum(sizes[depth] for depth, _ in states[-1]) + 25 * 10
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 4 * 60 * 64 / 2**20


def test_tasks_without_new_classes_vectors_and_no_layer_are_taken(vectors):
    for hidden in ((16,), ()):
        model = RPSNet(budget=40, **{**SMALL, "hidden": hidden})
        for task in (*vectors[:2], vectors[0]):
            model.partial_fit(task.X_train / 16, task.y_train)
        assert model.net.head.out_features == 4


def test_a_layer_without_a_module_is_empty_and_takes_no_memory():
    assert list(ModuleSum(900, 900).parameters()) == []


@pytest.mark.parametrize(
    "wrong",
    [{"n_modules": 0}, {"temperature": 0}, {"distillation": -1}, {"repeats": 0}, {"form": "tuned"}],
)
def test_bad_options_are_one_line(wrong, tasks):
    with pytest.raises(ClsnetError, match=next(iter(wrong))) as caught:
        RPSNet(**SMALL, **wrong).partial_fit(*scaled(tasks[0]))
    assert "\n" not in str(caught.value)


def test_forms_and_defaults():
    assert METHOD.forms == ("pixels", "frozen")
    model = METHOD.build(0, None)
    assert (model.budget, model.n_modules, model.hidden) == (2000, 8, (900, 900))
