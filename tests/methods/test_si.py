import torch

from clsnet.methods.si import SI

SMALL = {"hidden": (32, 32), "epochs": 2, "batch_size": 20, "device": "cpu"}


class Recorded(SI):
    """Writes down the weights and the gradients of its way."""

    def start_task(self, X, y):
        self.way, self.gradients = [self.copy()], []
        return super().start_task(X, y)

    def copy(self):
        return {name: w.detach().clone() for name, w in self.net.named_parameters()}

    def before_step(self):
        self.gradients.append({n: w.grad.clone() for n, w in self.net.named_parameters()})
        super().before_step()

    def after_step(self):
        super().after_step()
        self.way.append(self.copy())


def literal_importance(way, gradients, damping):
    importance = {}
    for name in way[0]:
        share = sum(
            -gradient[name] * (after[name] - before[name])
            for gradient, before, after in zip(gradients, way, way[1:], strict=False)
        )
        importance[name] = share / ((way[-1][name] - way[0][name]) ** 2 + damping)
    return importance


def test_importance_is_the_path_integral_over_the_squared_way(vectors):
    model = Recorded(strength=50.0, damping=0.01, **SMALL)
    total = {}
    for task in vectors[:3]:
        model.partial_fit(task.X_train / 16, task.y_train)
        for name, new in literal_importance(model.way, model.gradients, 0.01).items():
            old = torch.zeros_like(new)
            if name in total:
                old[: len(total[name])] = total[name]
            total[name] = (old + new).clamp(min=0)
    for name, importance in total.items():
        torch.testing.assert_close(model.importance[name], importance, rtol=1e-4, atol=1e-7)


def test_the_path_integral_is_about_the_fall_of_the_loss(vectors):
    model = Recorded(learning_rate=0.01, **{**SMALL, "batch_size": 1000, "epochs": 50})
    x, y = vectors[0].X_train / 16, vectors[0].y_train
    model.partial_fit(x, y)
    inputs = model.as_input(x)
    codes = torch.tensor([model.labels.index(label) for label in y.tolist()])
    losses = []
    for weights in (model.way[0], model.way[-1]):
        model.net.load_state_dict(weights)
        losses.append(model.loss(inputs, codes).item())
    share = literal_importance(model.way, model.gradients, damping=1.0)
    way = {n: (model.way[-1][n] - model.way[0][n]) ** 2 for n in share}
    integral = sum((share[n] * (way[n] + 1.0)).sum().item() for n in share)
    assert losses[0] - losses[1] > 0.01
    assert abs(integral - (losses[0] - losses[1])) < 0.05 * (losses[0] - losses[1])


def test_it_is_alive(vectors):
    """A view kept in place of a copy would make every importance zero."""
    model = SI(**SMALL).partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    for name in ("body.0.weight", "body.2.weight", "head.weight", "head.bias"):
        assert (model.importance[name] > 0).any()


def test_nothing_of_the_way_is_kept(vectors):
    model = SI(**SMALL).partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    kept = {id(tensor) for tensor in model.kept().values()}
    held = [v for value in vars(model).values() if isinstance(value, dict) for v in value.values()]
    assert {id(tensor) for tensor in held if isinstance(tensor, torch.Tensor)} == kept
