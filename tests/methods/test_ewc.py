import pytest
import torch

from clsnet.methods.ewc import EWC

SMALL = {"hidden": (32, 32), "epochs": 2, "batch_size": 20, "device": "cpu"}


def literal_fisher(net, X):
    """Squared gradients of log p, sample by sample, label by label, weighted with p."""
    fisher = {name: torch.zeros_like(weight) for name, weight in net.named_parameters()}
    for x in X:
        log_p = net(x[None]).log_softmax(dim=1)[0]
        for one in log_p:
            gradients = torch.autograd.grad(one, list(net.parameters()), retain_graph=True)
            for name, gradient in zip(fisher, gradients, strict=True):
                fisher[name] += one.detach().exp() * gradient**2 / len(X)
    return fisher


@pytest.fixture
def learned(vectors):
    model = EWC(**SMALL)
    for task in vectors[:2]:
        model.partial_fit(task.X_train / 16, task.y_train)
    return model


def test_fisher_information_equals_a_loop_over_samples_and_labels(learned, vectors):
    X = learned.as_input(vectors[1].X_train[:20] / 16)
    fast, slow = learned.fisher(X), literal_fisher(learned.net, X)
    for name, fisher in slow.items():
        torch.testing.assert_close(fast[name], fisher, rtol=1e-3, atol=1e-9)


def test_fisher_information_does_not_depend_on_how_samples_are_batched(
    learned, vectors, monkeypatch
):
    X = learned.as_input(vectors[1].X_train[:50] / 16)
    whole = learned.fisher(X)
    monkeypatch.setattr("clsnet.methods.ewc.CHUNK", 7)
    torch.testing.assert_close(learned.fisher(X), whole, rtol=1e-4, atol=1e-9)


def test_it_is_not_the_square_of_a_mean_gradient(learned, vectors):
    X = learned.as_input(vectors[1].X_train / 16)
    log_p = learned.net(X).log_softmax(dim=1)
    mean = torch.autograd.grad((log_p.detach().exp() * log_p).sum(1).mean(), learned.net.head.bias)
    assert (learned.fisher(X)["head.bias"] > 2 * mean[0] ** 2).all()


def test_the_penalty_is_one_quadratic_per_old_task(vectors):
    """All tasks' own penalties together, up to a constant."""
    model = EWC(strength=10.0, **SMALL)
    fishers, centres = [], []
    for task in vectors[:3]:
        model.partial_fit(task.X_train / 16, task.y_train)
        fishers.append(model.fisher(model.as_input(task.X_train / 16)))
        centres.append({name: w.detach().clone() for name, w in model.net.named_parameters()})

    def literal():
        total = 0.0
        for fisher, centre in zip(fishers, centres, strict=True):
            for name, weight in model.net.named_parameters():
                distance = weight[: len(centre[name])].double() - centre[name].double()
                total += (fisher[name].double() * distance**2).sum().item()
        return 10.0 / 2 * total

    def move():
        with torch.no_grad():
            for weight in model.net.parameters():
                weight += 0.5 * torch.randn(weight.shape)
        return literal(), model.penalty().item()

    torch.manual_seed(0)
    (a, fast_a), (b, fast_b) = move(), move()
    assert b - a == pytest.approx(fast_b - fast_a, rel=1e-3)
    assert abs(b - a) > 0.1
