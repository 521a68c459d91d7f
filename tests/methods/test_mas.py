import torch

from clsnet.methods.mas import MAS

SMALL = {"hidden": (32, 32), "epochs": 2, "batch_size": 20, "device": "cpu"}


def literal_sensitivity(net, X):
    total = {name: torch.zeros_like(weight) for name, weight in net.named_parameters()}
    for x in X:
        length = net(x[None]).square().sum()
        gradients = torch.autograd.grad(length, list(net.parameters()))
        for name, gradient in zip(total, gradients, strict=True):
            total[name] += gradient.abs() / len(X)
    return total


def test_sensitivity_equals_a_loop_over_samples(vectors):
    model = MAS(**SMALL).partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    X = model.as_input(vectors[0].X_train[:20] / 16)
    fast = model.sensitivity(X)
    for name, slow in literal_sensitivity(model.net, X).items():
        torch.testing.assert_close(fast[name], slow, rtol=1e-4, atol=1e-6)


def test_importances_of_tasks_add_up_around_the_last_weights(vectors):
    model = MAS(**SMALL)
    total = {}
    for task in vectors[:2]:
        model.partial_fit(task.X_train / 16, task.y_train)
        X = model.as_input(task.X_train / 16)
        for name, new in model.sensitivity(X).items():
            if name in total:
                new[: len(total[name])] += total[name]
            total[name] = new
    torch.testing.assert_close(model.importance, total, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(model.centre, dict(model.net.named_parameters()))


def test_labels_play_no_part(vectors):
    task = vectors[0]
    model = MAS(**SMALL).partial_fit(task.X_train / 16, task.y_train)
    X = model.as_input(task.X_train / 16)
    before = model.sensitivity(X)
    model.end_task(X, torch.zeros(len(X), dtype=torch.long))
    torch.testing.assert_close(
        model.importance["head.weight"], 2 * before["head.weight"], rtol=1e-4, atol=1e-6
    )
