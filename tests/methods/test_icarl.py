import itertools

import numpy as np
import pytest
import torch
from torch import nn

from clsnet.methods.common.herding import herded
from clsnet.methods.icarl import METHOD, ICaRL

SMALL = {"hidden": (32,), "epochs": 2, "batch_size": 20, "device": "cpu"}


def scaled(task):
    return task.X_train / np.float32(16), task.y_train


def literal_herding(features, count):
    """Try every sample at every step."""
    features = features.double()
    mean, chosen = features.mean(dim=0), []
    for _ in range(count):
        distances = {}
        for row in range(len(features)):
            if row not in chosen:
                of_chosen = features[[*chosen, row]].mean(dim=0)
                distances[row] = float((mean - of_chosen).norm())
        chosen.append(min(distances, key=distances.get))
    return chosen


@pytest.fixture(scope="module")
def learned(tasks):
    model = ICaRL(budget=61, **SMALL)
    kept = []
    for task in tasks[:3]:
        model.partial_fit(*scaled(task))
        kept.append(model.exemplars)
    return model, kept


def test_herding_is_that_of_a_loop_over_all_samples():
    features = nn.functional.normalize(torch.randn(40, 5, generator=torch.manual_seed(0)))
    assert herded(features, 12).tolist() == literal_herding(features, 12)
    assert sorted(herded(features, 40).tolist()) == list(range(40))
    assert herded(features, 0).tolist() == []


def test_the_list_for_fewer_exemplars_is_the_start_of_the_list(learned):
    _, kept = learned
    features = torch.randn(30, 4, generator=torch.manual_seed(1))
    assert herded(features, 20)[:7].tolist() == herded(features, 7).tolist()
    for earlier, later in itertools.pairwise(kept):
        for code in earlier.y.unique():
            before, after = (each.X[each.y == code] for each in (earlier, later))
            torch.testing.assert_close(after, before[: len(after)], rtol=0, atol=0)
            assert 0 < len(after) < len(before)


def test_exemplars_are_herded_by_features_of_unit_length(tasks):
    model = ICaRL(budget=12, **SMALL).partial_fit(*scaled(tasks[0]))
    X, y = scaled(tasks[0])
    code = model.labels[0]
    x = model.as_input(X[y == code])
    unit = nn.functional.normalize(model.features(x))
    torch.testing.assert_close(model.exemplars.X[:6], x[literal_herding(unit, 6)])


def test_a_class_that_comes_again_is_herded_again(tasks):
    model = ICaRL(budget=20, **SMALL)
    for task in (*tasks[:2], tasks[0]):
        model.partial_fit(*scaled(task))
    assert torch.bincount(model.exemplars.y).tolist() == [5] * 4


def test_the_nearest_mean_of_exemplars_answers_and_not_the_head(learned, tasks):
    model, _ = learned
    X = tasks[1].X_test / np.float32(16)
    unit = nn.functional.normalize(model.features(model.as_input(X)))
    of_exemplars = nn.functional.normalize(model.features(model.exemplars.X))
    means = []
    for code in range(6):
        mean = of_exemplars[model.exemplars.y == code].mean(dim=0)
        means.append(mean / mean.norm())
    nearest = torch.cdist(unit, torch.stack(means)).argmin(dim=1)
    before = model.predict(X)
    assert before.tolist() == [model.labels[code] for code in nearest]
    with torch.no_grad():
        model.net.head.weight.neg_()
        model.net.head.bias.add_(torch.arange(6.0))
    assert model.predict(X).tolist() == before.tolist()


def test_old_classes_have_old_outputs_as_targets_and_new_classes_labels(tasks):
    model = ICaRL(budget=20, **SMALL).partial_fit(*scaled(tasks[0]))
    found = []

    def fit_task(X, y):
        x = torch.cat([X[:3], model.exemplars.X[:2]])
        codes = torch.cat([y[:3], model.exemplars.y[:2]])
        literal = 0.0
        for row, code in zip(x, codes.tolist(), strict=True):
            new, old = model.net(row[None])[0].sigmoid(), model.old_net(row[None])[0].sigmoid()
            for output, p in enumerate(new):
                target = old[output] if output < 2 else float(output == code)
                literal -= (target * p.log() + (1 - target) * (1 - p).log()) / len(codes)
        found.append((model.loss(x, codes), literal))
        model.train(X, y)
        ICaRL.end_task(model, X, y)

    model.fit_task = fit_task
    model.partial_fit(*scaled(tasks[1]))
    torch.testing.assert_close(*found[0], rtol=1e-4, atol=1e-5)


def test_the_rate_falls_to_a_fifth_twice():
    model = ICaRL(epochs=10)
    rates = [model.schedule(epoch) for epoch in range(10)]
    assert rates == pytest.approx([1.0] * 7 + [0.2] * 2 + [0.04])


def test_memory_is_network_means_and_exemplars(learned):
    model, _ = learned
    numbers = 65 * 32 + 33 * 6 + 6 * 32
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 4 * 60 * 64 / 2**20


def test_vectors_and_one_sample_a_class_are_taken(vectors):
    model = ICaRL(budget=40, **SMALL)
    for task in vectors[:2]:
        rows = [int(np.flatnonzero(task.y_train == label)[0]) for label in task.classes]
        model.partial_fit(task.X_train[rows] / 16, task.y_train[rows])
    assert len(model.exemplars) == 4
    assert len(model.predict(vectors[0].X_test / 16)) == len(vectors[0].X_test)


def test_without_exemplars_the_head_answers(tasks):
    model = ICaRL(budget=0, **SMALL).partial_fit(*scaled(tasks[0]))
    assert np.mean(model.predict(tasks[0].X_test / np.float32(16)) == tasks[0].y_test) > 0.9


def test_method_builds_with_the_usual_budget():
    model = METHOD.build(3, None, device="cpu")
    assert (model.seed, model.budget) == (3, 2000)
