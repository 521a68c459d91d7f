import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods import check_options
from clsnet.methods.spacenet import METHOD, SpaceNet

SMALL = {
    **{"hidden": (60, 40), "share": 0.3, "density": 0.5},
    **{"epochs": 3, "batch_size": 20, "learning_rate": 0.05, "device": "cpu"},
}


def learned(tasks, kind=SpaceNet, **options):
    model = kind(**{**SMALL, **options})
    for task in tasks:
        model.partial_fit(task.X_train / 16, task.y_train)
    return model


def copies(model):
    return [tensor.detach().clone() for tensor in model.net.parameters()]


class Recorded(SpaceNet):
    """Writes down every step, what is allocated, and each exchange of connections."""

    def allocate(self, y):
        self.last, self.sums = None, None
        self.was_taken = [taken.clone() for taken in self.taken]
        super().allocate(y)
        self.exchanges, self.had = [], [mask.clone() for mask in self.connections]
        self.then_chosen, self.then_places = list(self.chosen), list(self.places)

    def before_step(self):
        self.finish_step()
        super().before_step()
        layers = self.net.layers()
        self.last = [(each.weight.detach().clone(), each.weight.grad.clone()) for each in layers]

    def finish_step(self):
        if self.last is None:
            return
        new = [
            (gradient * (layer.weight.detach() - weight)).abs()
            for layer, (weight, gradient) in zip(self.net.layers(), self.last, strict=True)
        ]
        self.sums = (
            new if self.sums is None else [a + b for a, b in zip(self.sums, new, strict=True)]
        )
        self.last = None

    def drop_and_grow(self):
        self.finish_step()
        before = [mask.clone() for mask in self.connections]
        importance = [each.clone() for each in self.importance]
        super().drop_and_grow()
        after = [mask.clone() for mask in self.connections]
        self.exchanges.append((before, importance, after))

    def reserve(self):
        self.finish_step()
        self.found = [importance.clone() for importance in self.importance]
        super().reserve()


@pytest.fixture(scope="module")
def recorded(vectors):
    return learned(vectors[:3], Recorded)


# --------------------------------------------------------------------------- old tasks


def test_no_weight_of_an_old_task_changes_by_a_bit(vectors):
    model = learned(vectors[:2])
    before = copies(model)
    assert sum(int((weight != 0).sum()) for weight in before) > 1000
    model.partial_fit(vectors[2].X_train / 16, vectors[2].y_train)
    for (name, now), old in zip(model.net.named_parameters(), before, strict=True):
        now = now.detach()[: len(old)]
        used = old != 0
        assert torch.equal(now[used], old[used]), name
        if name.startswith("head"):
            assert torch.equal(now, old)
        else:
            assert not torch.equal(now, old), name


def test_a_bias_belongs_to_the_first_task_that_uses_the_neuron(vectors):
    model = learned(vectors[:2], share=0.6)
    layers = model.net.layers()[:-1]
    before = [layer.bias.detach().clone() for layer in layers]
    model.partial_fit(vectors[2].X_train / 16, vectors[2].y_train)
    for layer, old in zip(layers, before, strict=True):
        assert torch.equal(layer.bias.detach()[old != 0], old[old != 0])
        assert (layer.bias.detach()[old == 0] != 0).any()


def test_a_class_that_comes_again_keeps_its_weights_and_gets_new_ones(vectors):
    model = learned(vectors[:2])
    before = copies(model)
    model.partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    for now, old in zip(model.net.parameters(), before, strict=True):
        assert torch.equal(now.detach()[old != 0], old[old != 0])
    head = before[-2]
    gained = (model.net.head.weight.detach() != 0) & (head == 0)
    assert gained[:2].any() and not gained[2:].any()


def test_reserved_neurons_get_no_new_connection(vectors):
    model = learned(vectors[:2])
    taken = [mask.clone() for mask in model.taken]
    before = [layer.weight.detach().clone() for layer in model.net.layers()]
    for task in vectors[2:4]:
        model.partial_fit(task.X_train / 16, task.y_train)
    after = [layer.weight.detach() for layer in model.net.layers()]
    for i, mask in enumerate(taken):
        assert 0 < mask.sum() < len(mask)
        assert torch.equal(after[i][mask], before[i][mask])
        outgoing = after[i + 1][: len(before[i + 1]), mask]
        assert torch.equal(outgoing, before[i + 1][:, mask])
        assert not after[i + 1][len(before[i + 1]) :, mask].any()
        assert (model.taken[i] | ~mask).all() and model.taken[i].sum() > mask.sum()


# --------------------------------------------------------------------- one task's own way


def test_a_task_gets_a_share_of_the_free_neurons_and_of_the_places_between_them(recorded):
    inputs, *hidden, outputs = recorded.then_chosen
    assert inputs.all()
    assert outputs.tolist() == [False] * 4 + [True] * 2
    for chosen, taken in zip(hidden, recorded.was_taken, strict=True):
        assert not (chosen & taken).any()
        assert int(chosen.sum()) == round(0.3 * int((~taken).sum()))
    for i, density in enumerate((0.5, 0.5, 0.5)):
        places = recorded.then_places[i]
        rows, columns = recorded.then_chosen[i + 1], recorded.then_chosen[i]
        assert not places[~rows].any() and not places[:, ~columns].any()
        assert int(recorded.had[i].sum()) == round(density * int(places.sum()))
        assert not (recorded.had[i] & ~places).any()


def test_importance_is_the_sum_of_gradient_times_change(recorded):
    for found, expected in zip(recorded.found, recorded.sums, strict=True):
        assert expected.max() > 0
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4 * float(expected.max()))


def test_the_number_of_connections_is_constant_and_the_head_keeps_its_own(recorded):
    assert len(recorded.exchanges) == 2
    for before, _, after in recorded.exchanges:
        for old, new, places in zip(before, after, recorded.then_places, strict=True):
            assert old.sum() == new.sum()
            assert not (new & ~places).any()
        assert torch.equal(before[-1], after[-1])


def test_the_least_important_are_dropped_and_others_grow_between_important_neurons(recorded):
    for before, importance, after in recorded.exchanges:
        incoming = [importance[0].sum(dim=0), *(each.sum(dim=1) for each in importance)]
        for i in (0, 1):
            had = {tuple(place) for place in before[i].nonzero().tolist()}
            has = {tuple(place) for place in after[i].nonzero().tolist()}
            dropped, grown = had - has, has - had
            assert len(dropped) == len(grown) == int(0.2 * len(had)) > 0
            weakest = max(float(importance[i][place]) for place in dropped)
            assert weakest <= min(float(importance[i][place]) for place in had & has)
            empty = {tuple(place) for place in recorded.then_places[i].nonzero().tolist()} - had
            value = {(r, c): float(incoming[i + 1][r] * incoming[i][c]) for r, c in empty}
            least = min(value[place] for place in grown)
            assert least >= max(value[place] for place in empty - grown)


def test_a_dropped_connection_is_zero_and_one_that_grows_is_trained(vectors):
    grown = []

    class Watched(SpaceNet):
        def drop_and_grow(self):
            before = [mask.clone() for mask in self.connections]
            super().drop_and_grow()
            for layer, old, new in zip(self.net.layers(), before, self.connections, strict=True):
                assert not layer.weight[old ^ new].any()
            grown.append(self.connections[0] & ~before[0])

    model = learned(vectors[:1], Watched, epochs=2)
    weights = model.net.layers()[0].weight.detach()
    assert (weights[grown[0]] != 0).float().mean() > 0.9


def test_the_most_important_half_of_the_neurons_is_reserved(recorded):
    for i in (0, 1):
        new = recorded.taken[i] & ~recorded.was_taken[i]
        chosen = recorded.then_chosen[i + 1]
        assert int(new.sum()) == round(int(chosen.sum()) / 2) and not (new & ~chosen).any()
        importance = [sum(row) for row in recorded.found[i].tolist()]
        rest = [importance[row] for row in (chosen & ~new).nonzero()[:, 0]]
        assert min(importance[row] for row in new.nonzero()[:, 0]) >= max(rest) > 0


def test_the_loss_is_over_the_tasks_classes_and_a_zero(vectors):
    pairs = []

    class Watched(SpaceNet):
        def loss(self, x, y):
            found = super().loss(x, y)
            expected = 0.0
            for row, code in zip(self.net(x).tolist(), y.tolist(), strict=True):
                own = [row[c] for c in range(self.new.start, self.new.stop)]
                total = sum(np.exp(score) for score in (*own, 0.0))
                expected -= np.log(np.exp(row[code]) / total) / len(y)
            pairs.append((found.item(), expected))
            return found

    learned(vectors[:2], Watched, epochs=1)
    found, expected = zip(*pairs, strict=True)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


# ----------------------------------------------------------------------------- the rest


def test_inputs_are_standardised_by_the_first_task(vectors):
    model = learned(vectors[:2], epochs=1)
    first = vectors[0].X_train / 16
    x = model.as_input(vectors[1].X_test / 16)
    expected = (vectors[1].X_test.reshape(len(x), -1) / 16 - first.mean()) / first.std()
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-3, atol=1e-4)


def test_it_remembers_where_the_same_network_without_freezing_forgets(vectors):
    right = []
    for freezing in (True, False):
        model = learned(vectors[:3], freezing=freezing, hidden=(100,), epochs=5)
        right.append([np.mean(model.predict(t.X_test / 16) == t.y_test) for t in vectors[:3]])
    assert np.mean(right[0]) > 0.6
    assert right[0][0] > right[1][0] + 0.3
    assert right[1][2] > 0.9


def test_weights_and_reserved_neurons_are_counted_and_nothing_else_is_kept(vectors):
    model = learned(vectors[:2])
    numbers = 65 * 60 + 61 * 40 + 41 * 4 + 100
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0
    assert not {"own", "chosen", "places", "connections", "biases", "importance"} & {*vars(model)}


@pytest.mark.parametrize(
    "options",
    [
        {"hidden": ()},
        {"hidden": (2, 1)},
        {"epochs": 0},
        {"density": 1.0},
        {"density": 0.0},
        {"share": 1.0, "reserved": 1.0},  # nothing is left after the first task
    ],
)
def test_narrow_full_and_untrained_networks_are_taken(vectors, options):
    model = learned([*vectors[:3], vectors[0]], **options)
    assert set(model.predict(vectors[0].X_test / 16)) <= set(model.labels)
    assert all(torch.isfinite(weight).all() for weight in model.net.parameters())


def test_tasks_of_one_class_are_taken(vectors):
    X, y = vectors[0].X_train / 16, vectors[0].y_train
    model = SpaceNet(**SMALL)
    for label in np.unique(y):
        model.partial_fit(X[y == label], y[y == label])
    assert model.net.head.weight.any(dim=1).tolist() == [True, True]
    assert set(model.predict(X).tolist()) <= set(y.tolist())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"share": 1.5}, "share=1.5: use a number from 0 to 1"),
        ({"density": -0.1}, "density=-0.1: use a number from 0 to 1"),
        ({"replaced": 2}, "replaced=2: use a number from 0 to 1"),
        ({"reserved": "half"}, "reserved='half' is not a number"),
        ({"freezing": 1}, "freezing=1 is not True or False"),
        ({"form": "tuned"}, "SpaceNet cannot train a backbone"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, reason):
    with pytest.raises(ClsnetError, match=reason) as caught:
        check_options(METHOD, options)
    assert "\n" not in str(caught.value)
