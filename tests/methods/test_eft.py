import copy
import math

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods import check_options
from clsnet.methods.common.tuned import pretrained_body
from clsnet.methods.eft import EFT, METHOD, GroupedMap, nearness, uncertainty

SMALL = {"hidden": (32, 24), "epochs": 2, "batch_size": 20, "device": "cpu"}


def learned(tasks, kind=EFT, **options):
    model = kind(**{**SMALL, **options})
    for task in tasks:
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
    return model


def outputs(model, x):
    model.net.eval()
    with torch.no_grad():
        return model.net(x)


# ------------------------------------------------------------------------------- paths


def test_a_new_path_leaves_the_outputs_of_old_ones_unchanged_to_the_bit(tasks):
    model = learned(tasks[:1])
    x = model.as_input(tasks[0].X_test / np.float32(16))
    before = outputs(model, x)
    for number, task in enumerate(tasks[1:4], start=1):
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
        now = outputs(model, x)
        assert len(now) == number + 1
        for old, new in zip(before, now, strict=False):
            assert torch.equal(old, new)
        before = now


def test_shared_layers_are_learned_with_the_first_task_and_maps_with_each(tasks):
    untrained = learned(tasks[:1], epochs=0).net
    model = learned(tasks[:1])
    first = copy.deepcopy(model.net.shared)
    assert not torch.equal(untrained.shared[0].weight, first[0].weight)
    model.partial_fit(tasks[1].X_train / np.float32(16), tasks[1].y_train)
    for old, new in zip(first.parameters(), model.net.shared.parameters(), strict=True):
        assert torch.equal(old, new)
    for place in (0, 2):
        one, two = (path[place] for path in model.net.paths)
        for name in ("weight", "bias", "running_mean", "running_var"):
            assert not torch.equal(getattr(one, name), getattr(two, name))


def test_maps_start_as_copies_of_the_last_ones_and_the_head_anew(tasks):
    model = learned(tasks[:2])
    model.epochs = 0
    model.partial_fit(tasks[2].X_train / np.float32(16), tasks[2].y_train)
    last, new = model.net.paths[1].state_dict(), model.net.paths[2].state_dict()
    assert last.keys() == new.keys()
    assert all(torch.equal(last[name], new[name]) for name in last)
    assert not torch.equal(model.net.heads[1].weight, model.net.heads[2].weight)


def test_without_freezing_shared_layers_go_on_to_change(tasks):
    model = learned(tasks[:1], freezing=False)
    before = model.net.shared[0].weight.detach().clone()
    model.partial_fit(tasks[1].X_train / np.float32(16), tasks[1].y_train)
    assert not torch.equal(before, model.net.shared[0].weight)


# ------------------------------------------------------------------------------ answers


def literal_answers(model, x):
    """Path by path and sample by sample: the class of the path whose entropy is least."""
    answers = []
    for one in x:
        least, answer = math.inf, None
        for members, scores in zip(model.members, outputs(model, one[None]), strict=True):
            exps = [math.exp(score - scores.max()) for score in scores[0].tolist()]
            p = [each / sum(exps) for each in exps]
            entropy = -sum(each * math.log(each) for each in p if each > 0) / math.log(len(p))
            if entropy < least:
                least, answer = entropy, model.labels[members[int(np.argmax(p))]]
        answers.append(answer)
    return answers


def test_the_path_of_least_entropy_answers(tasks):
    model = learned(tasks[:3], epochs=1)
    X = np.concatenate([task.X_test[:25] for task in tasks[:3]]) / np.float32(16)
    expected = literal_answers(model, model.as_input(X))
    assert len(set(expected)) > 3
    assert model.predict(X).tolist() == expected


def test_tasks_of_several_sizes_are_compared_by_their_share_of_the_greatest_entropy(tasks):
    X = np.concatenate([task.X_train for task in tasks[:2]]) / np.float32(16)
    y = np.concatenate([task.y_train for task in tasks[:2]])
    model = EFT(**{**SMALL, "epochs": 1}).partial_fit(X, y)
    model.partial_fit(tasks[2].X_train / np.float32(16), tasks[2].y_train)
    assert [head.out_features for head in model.net.heads] == [4, 2]
    X = np.concatenate([task.X_test[:25] for task in tasks[:3]]) / np.float32(16)
    assert model.predict(X).tolist() == literal_answers(model, model.as_input(X))


def test_entropy_is_that_of_the_softmax_even_where_it_is_nearly_none():
    scores = torch.tensor(
        [[0.0, 1.0, -2.0], [0.0, 60.0, -60.0], [0.0, 50.0, -60.0], [3.0, 3.0, 3.0]]
    )
    found = uncertainty(scores)
    p = scores.double().softmax(dim=1)
    expected = -(p * p.log()).sum(dim=1) / math.log(3)
    torch.testing.assert_close(found, expected.float(), rtol=1e-4, atol=0)
    assert 0 < found[1] < found[2] < found[0] < found[3]


def test_a_path_of_one_class_answers_only_where_no_other_is_certain(vectors):
    X, y = vectors[0].X_train / 16, vectors[0].y_train
    model = EFT(**SMALL).partial_fit(X[y == 4], y[y == 4])
    assert set(model.predict(X)) == {4}
    model.partial_fit(X, y)
    assert model.members == [[0], [0, 1]]
    assert np.mean(model.predict(X) == y) > 0.9


# --------------------------------------------------------------------------------- loss


def test_nearness_is_that_of_a_loop():
    random = torch.Generator().manual_seed(0)
    features, near, far = (torch.randn(6, 5, generator=random) for _ in range(3))
    near, far = features + 0.3 * near, features + 30 * far
    total = 0.0
    for old in (near, far):
        square = sum((a - b) ** 2 for a, b in zip(features.flatten(), old.flatten(), strict=True))
        total += max(0.0, 1 - math.sqrt(square) / 6) / 2
    assert 0 < total < 0.5
    assert float(nearness(features, [near, far])) == pytest.approx(total, rel=1e-5)


def test_the_loss_is_that_of_the_new_path_and_of_being_near_old_ones(tasks):
    found = []

    class Watched(EFT):
        def loss(self, x, y):
            loss = super().loss(x, y)
            if self.task == 2:
                old, older, new = (self.net.features(x, path).detach() for path in range(3))
                logs = self.net.heads[2](new).detach().log_softmax(dim=1)
                fit = -sum(logs[i, code - 4] for i, code in enumerate(y.tolist())) / len(y)
                near = [1 - float((new - each).norm()) / len(y) for each in (old, older)]
                found.append((loss.item(), float(fit), sum(max(0.0, each) for each in near) / 2))
            return loss

    learned(tasks[:3], Watched, distance=0.7, batch_size=40)
    assert max(near for *_, near in found) > 0.3
    for loss, fit, near in found:
        assert loss == pytest.approx(fit + 0.7 * near, rel=1e-4)
    plain = learned(tasks[:2], distance=0.0).net.paths[1][0].weight
    assert not torch.equal(plain, learned(tasks[:2], distance=5.0).net.paths[1][0].weight)


# -------------------------------------------------------------------- the tuned form


@pytest.fixture(scope="module")
def tuned(write_network, tmp_path_factory):
    file = write_network(tmp_path_factory.mktemp("weights") / "base.safetensors")
    return {"backbone": file, "form": "tuned", "epochs": 1, "batch_size": 16, "device": "cpu"}


def images(labels, seed):
    random = np.random.RandomState(seed)
    y = np.repeat(labels, 8)
    base = 50 * y[:, None, None, None] + 20
    return (base + random.randint(0, 40, (len(y), 3, 8, 8))).astype(np.uint8), y


def test_an_untrained_path_gives_the_features_of_the_pretrained_network(tuned):
    X, y = images([0, 1], 0)
    model = EFT(**{**tuned, "epochs": 0}).partial_fit(X, y)
    body, _ = pretrained_body(tuned["backbone"])
    with torch.no_grad():
        expected = body.eval()(torch.from_numpy(X))
    torch.testing.assert_close(model.features(model.as_input(X)), expected)


def test_pretrained_weights_stay_from_the_start_and_old_paths_to_the_bit(tuned):
    model = EFT(**tuned).partial_fit(*images([0, 1], 0))
    body, _ = pretrained_body(tuned["backbone"])
    pretrained = body.state_dict().values()
    x = model.as_input(images([0, 1, 2, 3], 2)[0])
    before = outputs(model, x)[0]
    model.partial_fit(*images([2, 3], 1))
    assert all(map(torch.equal, model.net.shared.state_dict().values(), pretrained))
    assert torch.equal(outputs(model, x)[0], before)
    one, two = (path.state_dict() for path in model.net.paths)
    assert sum(not torch.equal(one[name], two[name]) for name in one) > 8 * 4
    assert sum(isinstance(each, GroupedMap) for each in model.net.paths[0]) == 8


def test_a_grouped_map_adds_two_convolutions_of_8_and_16_channels():
    layer = GroupedMap(32).eval()
    x = torch.rand(2, 32, 5, 5)
    with torch.no_grad():
        assert torch.equal(layer(x), x)
        layer.norm.weight.fill_(1.0)
        found = layer(x)
        padded = torch.nn.functional.pad(x, (1, 1, 1, 1))
        for channel, row, column in ((0, 0, 0), (13, 2, 4), (31, 4, 1)):
            wide = padded[
                0, channel // 8 * 8 : channel // 8 * 8 + 8, row : row + 3, column : column + 3
            ]
            point = x[0, channel // 16 * 16 : channel // 16 * 16 + 16, row, column]
            added = (layer.wide.weight[channel] * wide).sum()
            added += (layer.point.weight[channel, :, 0, 0] * point).sum()
            expected = max(0.0, float(x[0, channel, row, column] + added / math.sqrt(1 + 1e-5)))
            assert float(found[0, channel, row, column]) == pytest.approx(expected, abs=1e-5)


# ----------------------------------------------------------------------------- the rest


def test_shared_layers_maps_and_heads_are_counted(tasks):
    model = learned(tasks[:3])
    maps = 4 * 32 + 1 + 4 * 24 + 1  # factor, shift, mean, variance; and a count of batches
    numbers = 65 * 32 + 33 * 24 + 3 * (maps + 25 * 2)
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


def test_a_network_without_hidden_layers_is_a_head_per_task(vectors):
    model = learned(vectors[:3], hidden=())
    assert sum(weight.numel() for weight in model.net.parameters()) == 3 * 65 * 2
    assert set(model.predict(vectors[0].X_test)) <= set(model.labels)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"distance": -1.0}, "distance=-1.0: use a number of 0 or more"),
        ({"momentum": 2}, "momentum=2: use a number from 0 to 1"),
        ({"weight_decay": -0.1}, "weight_decay=-0.1: use a number of 0 or more"),
        ({"freezing": "no"}, "freezing='no' is not True or False"),
        ({"form": "tuned"}, "form='tuned' needs a backbone"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, reason):
    with pytest.raises(ClsnetError, match=reason) as caught:
        check_options(METHOD, options)
    assert "\n" not in str(caught.value)
