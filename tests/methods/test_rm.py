import math

import numpy as np
import pytest
import torch

from clsnet.methods.rm import METHOD, RM, cut_mix, even_steps, perturbed


def scaled(task):
    return task.X_train / np.float32(16), task.y_train


@pytest.fixture(scope="module")
def learned(tasks):
    model = RM(hidden=(32, 32), epochs=4, batch_size=20, budget=61, device="cpu")
    sizes = []
    for task in tasks[:3]:
        model.partial_fit(*scaled(task))
        sizes.append(torch.bincount(model.exemplars.y).tolist())
    return model, sizes


def test_memory_is_balanced_and_never_over_budget(learned):
    _, sizes = learned
    assert sizes == [[30] * 2, [15] * 4, [10] * 6]


def test_memory_is_exactly_counted(learned):
    model, _ = learned
    parameters = 64 * 32 + 32 + 32 * 32 + 32 + 32 * 6 + 6
    assert model.memory().model_mb == 4 * parameters / 2**20
    assert model.memory().exemplar_mb == 4 * 60 * 64 / 2**20


def test_chosen_samples_step_evenly_through_the_sorted_uncertainties():
    class Known(RM):
        def uncertainty(self, X):
            return X[:, 0]

    random = np.random.RandomState(0)
    values = torch.from_numpy(random.permutation(100).astype(np.float32))[:, None]
    model = Known(device="cpu")
    chosen = values[model.rank(values, torch.zeros(100), 8), 0]
    assert chosen.tolist() == [0, 12, 25, 37, 50, 62, 75, 87]
    # unlike with steps rounded down, the upper end stays when few are dropped
    chosen = values[model.rank(values, torch.zeros(100), 80), 0]
    assert chosen.max() == 98
    assert len(set(chosen.tolist())) == 80


def test_a_class_with_fewer_samples_than_its_share_keeps_all():
    model = RM(device="cpu")
    model.uncertainty = lambda X: X[:, 0]
    assert sorted(model.rank(torch.rand(5, 1), torch.zeros(5), 30).tolist()) == [0, 1, 2, 3, 4]
    assert even_steps(5, 5) == [0, 1, 2, 3, 4]


def test_uncertainty_is_one_less_the_share_of_the_commonest_answer(learned, tasks):
    model, _ = learned
    x = model.as_input(tasks[0].X_train[:20] / np.float32(16))
    state = model.random.get_state()
    found = model.uncertainty(x)
    model.random.set_state(state)
    answers = [
        model.net(version.flatten(1)).argmax(dim=1).tolist()
        for version in perturbed(x.view(-1, 1, 8, 8), model.random)
    ]
    assert len(answers) == 12
    for i, value in enumerate(found.tolist()):
        votes = [row[i] for row in answers]
        assert value == pytest.approx(1 - max(map(votes.count, votes)) / 12)
    assert found.unique().numel() > 1


def test_perturbations_change_the_image_and_keep_its_range_and_shape():
    images = torch.rand(6, 2, 9, 7, generator=torch.Generator().manual_seed(0))
    versions = list(perturbed(images, torch.Generator().manual_seed(1)))
    assert len(versions) == 12
    for version in versions:
        assert version.shape == images.shape
        assert not torch.equal(version, images)
        assert version.min() >= 0
        assert version.max() <= images.max() + 1e-6


def test_a_mixed_image_has_one_box_of_its_partner_and_labels_in_proportion():
    images = torch.arange(4.0).view(4, 1, 1, 1).expand(4, 1, 10, 6)
    partner = torch.tensor([1, 2, 3, 0])
    random = torch.Generator().manual_seed(0)
    shares = []
    for _ in range(200):
        mixed, share = cut_mix(images, partner, random)
        shares.append(share)
        foreign = mixed != images
        assert share == pytest.approx(1 - foreign[0].float().mean().item())
        assert torch.equal(mixed[foreign], images[partner][foreign])
        assert (foreign == foreign[:1]).all()
        rows, columns = foreign[0, 0].any(dim=1), foreign[0, 0].any(dim=0)
        assert torch.equal(foreign[0, 0], rows[:, None] & columns)
    assert min(shares) < 0.2
    assert max(shares) > 0.9


def test_mixed_loss_is_the_share_of_both_losses(learned, tasks):
    model, _ = learned
    model.mix = 1.0
    state = model.random.get_state()
    X, y = scaled(tasks[2])
    x = model.as_input(X[:7])
    codes = torch.tensor([model.labels.index(label) for label in y[:7].tolist()])
    found = model.loss(x, codes).item()

    model.random.set_state(state)
    rows = torch.randperm(60, generator=model.random)[:13]
    torch.rand((), generator=model.random)
    partner = torch.randperm(20, generator=model.random)
    x = torch.cat([x, model.exemplars.X[rows]])
    codes = torch.cat([codes, model.exemplars.y[rows]])
    mixed, share = cut_mix(x.view(-1, 1, 8, 8), partner, model.random)
    logs = model.net(mixed.flatten(1)).log_softmax(dim=1)
    expected = 0.0
    for i in range(20):
        expected -= share * logs[i, codes[i]].item() / 20
        expected -= (1 - share) * logs[i, codes[partner[i]]].item() / 20
    assert found == pytest.approx(expected, rel=1e-5)


def test_old_classes_have_their_share_of_every_batch(learned):
    model, _ = learned
    # 4 of 6 classes are old: 13 of 20 samples are exemplars
    assert model.n_replayed() == 13
    assert [len(rows) for rows in model.batches(25)] == [7, 7, 7, 4]


def test_learning_rate_warms_up_and_restarts_along_longer_cosines():
    model = RM(device="cpu")
    cosine = [0.01 + 0.99 * (1 + math.cos(math.pi * i / 4)) / 2 for i in range(4)]
    expected = [0.1, 1.0, 1.0, 0.505, *cosine, 1.0]
    assert [model.schedule(epoch) for epoch in range(9)] == pytest.approx(expected)


def test_a_task_of_known_classes_is_rehearsed_with_the_absent_ones(tasks):
    model = RM(hidden=(8,), epochs=1, batch_size=20, budget=40, device="cpu")
    for task in (*tasks[:2], tasks[0]):
        model.partial_fit(*scaled(task))
    assert model.n_replayed() == 10
    assert torch.bincount(model.exemplars.y).tolist() == [10] * 4


def test_vectors_are_taken_too(vectors):
    model = RM(hidden=(16,), epochs=1, budget=40, device="cpu")
    for task in vectors[:2]:
        model.partial_fit(task.X_train / 16, task.y_train)
    assert len(model.exemplars) == 40


def test_method_builds_with_the_papers_budget():
    model = METHOD.build(3, None, device="cpu")
    assert (model.seed, model.budget, METHOD.paper) == (3, 2000, "RM")
