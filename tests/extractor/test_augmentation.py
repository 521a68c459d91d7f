import numpy as np
import pytest
import torch

from clsnet.extractor import Augmentation
from clsnet.extractor.admm import lasso_admm

ACTIVATION = {"none": lambda a: a, "relu": torch.relu, "tanh": torch.tanh}


def samples(n=40, d=6, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d)))


def fitted(seed=0, Z=None, **options):
    augmentation = Augmentation(**{"groups": 3, "group_size": 4, **options})
    augmentation.fit(samples() if Z is None else Z, np.random.RandomState(seed))
    return augmentation


def with_constant(Z, constant=1.0):
    return torch.cat([Z, torch.full((len(Z), 1), constant, dtype=Z.dtype)], dim=1)


@pytest.mark.parametrize(
    "connection, width", [("Z", 7), ("G", 12), ("G*", 12), ("A", 19), ("Z+G", 19)]
)
def test_every_connection_has_its_width(connection, width):
    assert fitted(connection=connection)(samples(5)).shape == (5, width)


def test_connection_z_is_z_and_a_constant():
    Z = samples(5)
    assert torch.equal(Augmentation("Z", constant=0.1)(Z), with_constant(Z, 0.1))


@pytest.mark.parametrize("activation", ACTIVATION)
def test_connection_g_is_random_nodes_with_bias_behind_the_activation(activation):
    Z = samples(5)
    drawn = torch.from_numpy(np.random.RandomState(0).uniform(-1, 1, (7, 12)))
    W, bias = drawn[:-1], drawn[-1]
    G = fitted(connection="G", activation=activation)(Z)
    torch.testing.assert_close(G, ACTIVATION[activation](Z @ W + bias))


@pytest.mark.parametrize("activation", ACTIVATION)
def test_connection_a_is_z_beside_the_tuned_nodes(activation):
    Z = samples(5)
    tuned = fitted(connection="G*", activation=activation)(Z)
    A = fitted(connection="A", activation=activation)(Z)
    assert torch.equal(A, torch.cat([with_constant(Z), tuned], dim=1))


@pytest.mark.parametrize("weights", ["uniform", "normal", "scaled"])
def test_connection_z_plus_g_is_z_beside_the_random_nodes(weights):
    Z = samples(5)
    random_nodes = fitted(connection="G", weights=weights)(Z)
    both = fitted(connection="Z+G", weights=weights)(Z)
    assert torch.equal(both, torch.cat([with_constant(Z), random_nodes], dim=1))


def buffers(augmentation):
    return dict(augmentation.named_buffers())


@pytest.mark.parametrize("weights", ["uniform", "normal", "scaled"])
@pytest.mark.parametrize("options", [{"connection": "G"}, {"connection": "Z+G", "relu_nodes": 9}])
def test_what_is_not_tuned_looks_at_the_width_alone(options, weights):
    one = fitted(Z=samples(40, seed=1), weights=weights, **options)
    other = fitted(Z=100 + 7 * samples(1, seed=2), weights=weights, **options)
    assert not one.tuned
    assert all(torch.equal(buffers(one)[name], value) for name, value in buffers(other).items())
    assert torch.equal(one(samples(5)), other(samples(5)))


@pytest.mark.parametrize(
    "options",
    [
        {"connection": "A"},
        {"connection": "G*"},
        {"connection": "G", "unit": True},
        {"connection": "Z+G", "unit": True},
        {"connection": "Z+G", "tanh_nodes": 5},
    ],
)
def test_what_is_tuned_looks_at_the_samples(options):
    one, other = (fitted(Z=samples(40, seed=seed), **options) for seed in (1, 2))
    assert one.tuned
    assert not torch.equal(one(samples(5)), other(samples(5)))


def test_tuned_map_of_each_group_is_its_sparse_map_back_to_z_transposed():
    Z = with_constant(samples())
    random_weight = fitted(connection="G").weight
    tuned = fitted(connection="G*", alpha=0.5).weight
    assert tuned.shape == random_weight.shape
    for group in range(3):
        columns = slice(4 * group, 4 * group + 4)
        G = Z @ random_weight[:, columns]
        theta = lasso_admm(G.T @ G, G.T @ Z, alpha=0.5)
        torch.testing.assert_close(tuned[:, columns], theta.T)


def test_a_large_alpha_leaves_no_node():
    assert fitted(connection="G*", alpha=1e6)(samples()).abs().max() == 0


@pytest.mark.parametrize("connection", ["G", "G*"])
@pytest.mark.parametrize("weights", ["uniform", "normal"])
def test_unit_scaling_puts_fitted_samples_between_zero_and_one(connection, weights):
    options = {"connection": connection, "weights": weights, "activation": "none"}
    nodes = fitted(unit=True, **options)(samples())
    torch.testing.assert_close(nodes.amin(dim=0), torch.zeros(12, dtype=torch.float64))
    torch.testing.assert_close(nodes.amax(dim=0), torch.ones(12, dtype=torch.float64))
    assert fitted(**options)(samples()).abs().max() > 1.5 or connection == "G*"


def test_unit_scaling_leaves_a_node_that_never_varies_finite():
    nodes = fitted(Z=torch.ones(5, 6, dtype=torch.float64), unit=True, connection="G*")
    assert torch.isfinite(nodes(samples())).all()


def test_normal_weights_are_two_times_normal_less_one():
    weight = fitted(connection="G", weights="normal").weight
    expected = 2 * np.random.RandomState(0).standard_normal((7, 12)) - 1
    np.testing.assert_allclose(weight, expected)


def test_scaled_weights_give_standardised_samples_nodes_of_half_a_deviation():
    options = {"connection": "G", "weights": "scaled", "activation": "none", "group_size": 100}
    random = np.random.RandomState(0)
    drawn = random.standard_normal((7, 300))
    literal = 0.5 * drawn[:6] / 6**0.5
    bias = random.uniform(-0.5, 0.5, 300)
    augmentation = fitted(**options)
    np.testing.assert_allclose(augmentation.weight, np.vstack([literal, bias]))
    wide = samples(500, d=400)
    nodes = fitted(Z=wide, **options)(wide)
    assert nodes.std(dim=0).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("tanh_nodes", [5, 30])
def test_tanh_nodes_stand_beside_the_tuned_ones(tanh_nodes):
    options = {"connection": "G*", "activation": "none", "unit": True, "constant": 0.1}
    augmentation = fitted(tanh_nodes=tanh_nodes, **options)
    nodes = fitted(**options)(samples())
    out = augmentation(samples())
    assert out.shape == (40, 12 + tanh_nodes)
    torch.testing.assert_close(out[:, :12], nodes)
    inputs = with_constant(nodes, 0.1) @ augmentation.tanh_weight
    torch.testing.assert_close(out[:, 12:], torch.tanh(inputs))
    assert inputs.max().item() == pytest.approx(200)
    W = augmentation.tanh_weight
    gram = W @ W.T if tanh_nodes > 13 else W.T @ W
    torch.testing.assert_close(gram / gram[0, 0], torch.eye(len(gram), dtype=torch.float64))


def test_relu_layer_replaces_the_tuned_nodes():
    augmentation = fitted(connection="A", tanh_nodes=5, relu_nodes=9)
    below = fitted(connection="G*", tanh_nodes=5)(samples())
    expected = torch.relu(below @ augmentation.relu_weight + augmentation.relu_bias)
    out = augmentation(samples())
    assert augmentation.relu_weight.shape == (17, 9)
    torch.testing.assert_close(out, torch.cat([with_constant(samples()), expected], dim=1))
    assert expected.max() > 0


FULL = {"connection": "A", "unit": True, "tanh_nodes": 5, "relu_nodes": 9}


@pytest.mark.parametrize("options", [{}, {"connection": "G"}, FULL])
def test_fit_follows_from_its_seed(options):
    Z = samples(5)
    assert torch.equal(fitted(seed=1, **options)(Z), fitted(seed=1, **options)(Z))
    assert not torch.equal(fitted(seed=1, **options)(Z), fitted(seed=2, **options)(Z))


@pytest.mark.parametrize("options", [{}, {"connection": "G", "activation": "tanh"}, FULL])
def test_representation_of_a_sample_ignores_the_rest_of_the_batch(options):
    augmentation, Z = fitted(**options), samples(20, seed=1)
    together = augmentation(Z)
    alone = torch.cat([augmentation(row[None]) for row in Z])
    torch.testing.assert_close(together, alone, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(augmentation(Z.flip(0)).flip(0), together, rtol=1e-10, atol=1e-10)


def test_config_rebuilds_the_augmentation():
    augmentation = Augmentation(**FULL, groups=2, alpha=0.3)
    assert Augmentation(**augmentation.config).config == augmentation.config
    assert augmentation.config["alpha"] == 0.3
