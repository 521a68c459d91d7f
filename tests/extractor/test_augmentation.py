import numpy as np
import pytest

from clsnet.extractor import Augmentation
from clsnet.extractor.admm import lasso_admm

ACTIVATION = {"none": lambda a: a, "relu": lambda a: a.clip(0), "tanh": np.tanh}


def samples(n=40, d=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def fitted(seed=0, Z=None, **options):
    augmentation = Augmentation(**{"groups": 3, "group_size": 4, **options})
    augmentation.fit(samples() if Z is None else Z, np.random.RandomState(seed))
    return augmentation


def close(one, other, rtol=1e-7, atol=1e-7):
    np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def with_constant(Z, constant=1.0):
    return np.hstack([Z, np.full((len(Z), 1), constant)])


@pytest.mark.parametrize(
    "connection, width", [("Z", 7), ("G", 12), ("G*", 12), ("A", 19), ("Z+G", 19)]
)
def test_every_connection_has_its_width(connection, width):
    assert fitted(connection=connection).transform(samples(5)).shape == (5, width)


def test_connection_z_is_z_and_a_constant():
    Z = samples(5)
    assert np.array_equal(Augmentation("Z", constant=0.1).transform(Z), with_constant(Z, 0.1))


def test_a_row_alone_is_rounded_as_in_a_pair():
    """Else a class of one sample would be forgotten but for a trace in single precision."""
    Z = samples(40, 400).astype(np.float32)
    augmentation = fitted(Z=Z, connection="Z+G", groups=30, group_size=30)
    for row in Z:
        pair = augmentation.transform(np.stack([row, row]))
        assert np.array_equal(augmentation.transform(row[None]), pair[:1])


@pytest.mark.parametrize("activation", ACTIVATION)
def test_connection_g_is_random_nodes_with_bias_behind_the_activation(activation):
    Z = samples(5)
    drawn = np.random.RandomState(0).uniform(-1, 1, (7, 12))
    W, bias = drawn[:-1], drawn[-1]
    G = fitted(connection="G", activation=activation).transform(Z)
    close(G, ACTIVATION[activation](Z @ W + bias))


@pytest.mark.parametrize("activation", ACTIVATION)
def test_connection_a_is_z_beside_the_tuned_nodes(activation):
    Z = samples(5)
    tuned = fitted(connection="G*", activation=activation).transform(Z)
    A = fitted(connection="A", activation=activation).transform(Z)
    assert np.array_equal(A, np.hstack([with_constant(Z), tuned]))


@pytest.mark.parametrize("weights", ["uniform", "normal", "scaled"])
def test_connection_z_plus_g_is_z_beside_the_random_nodes(weights):
    Z = samples(5)
    random_nodes = fitted(connection="G", weights=weights).transform(Z)
    both = fitted(connection="Z+G", weights=weights).transform(Z)
    assert np.array_equal(both, np.hstack([with_constant(Z), random_nodes]))


@pytest.mark.parametrize("weights", ["uniform", "normal", "scaled"])
@pytest.mark.parametrize("options", [{"connection": "G"}, {"connection": "Z+G", "relu_nodes": 9}])
def test_what_is_not_tuned_looks_at_the_width_alone(options, weights):
    one = fitted(Z=samples(40, seed=1), weights=weights, **options)
    other = fitted(Z=100 + 7 * samples(1, seed=2), weights=weights, **options)
    assert not one.tuned
    assert all(np.array_equal(one.state()[name], value) for name, value in other.state().items())
    assert np.array_equal(one.transform(samples(5)), other.transform(samples(5)))


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
    assert not np.array_equal(one.transform(samples(5)), other.transform(samples(5)))


def test_tuned_map_of_each_group_is_its_sparse_map_back_to_z_transposed():
    Z = with_constant(samples())
    random_weight = fitted(connection="G").weight
    tuned = fitted(connection="G*", alpha=0.5).weight
    assert tuned.shape == random_weight.shape
    for group in range(3):
        columns = slice(4 * group, 4 * group + 4)
        G = Z @ random_weight[:, columns]
        theta = lasso_admm(G.T @ G, G.T @ Z, alpha=0.5)
        close(tuned[:, columns], theta.T)


def test_a_large_alpha_leaves_no_node():
    assert abs(fitted(connection="G*", alpha=1e6).transform(samples())).max() == 0


@pytest.mark.parametrize("connection", ["G", "G*"])
@pytest.mark.parametrize("weights", ["uniform", "normal"])
def test_unit_scaling_puts_fitted_samples_between_zero_and_one(connection, weights):
    options = {"connection": connection, "weights": weights, "activation": "none"}
    nodes = fitted(unit=True, **options).transform(samples())
    close(nodes.min(axis=0), np.zeros(12))
    close(nodes.max(axis=0), np.ones(12))
    assert abs(fitted(**options).transform(samples())).max() > 1.5 or connection == "G*"


def test_unit_scaling_leaves_a_node_that_never_varies_finite():
    nodes = fitted(Z=np.ones((5, 6)), unit=True, connection="G*")
    assert np.isfinite(nodes.transform(samples())).all()


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
    nodes = fitted(Z=wide, **options).transform(wide)
    assert nodes.std(axis=0).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("tanh_nodes", [5, 30])
def test_tanh_nodes_stand_beside_the_tuned_ones(tanh_nodes):
    options = {"connection": "G*", "activation": "none", "unit": True, "constant": 0.1}
    augmentation = fitted(tanh_nodes=tanh_nodes, **options)
    nodes = fitted(**options).transform(samples())
    out = augmentation.transform(samples())
    assert out.shape == (40, 12 + tanh_nodes)
    close(out[:, :12], nodes)
    inputs = with_constant(nodes, 0.1) @ augmentation.tanh_weight
    close(out[:, 12:], np.tanh(inputs))
    assert inputs.max() == pytest.approx(200)
    W = augmentation.tanh_weight
    gram = W @ W.T if tanh_nodes > 13 else W.T @ W
    close(gram / gram[0, 0], np.eye(len(gram)))


def test_relu_layer_replaces_the_tuned_nodes():
    augmentation = fitted(connection="A", tanh_nodes=5, relu_nodes=9)
    below = fitted(connection="G*", tanh_nodes=5).transform(samples())
    expected = (below @ augmentation.relu_weight + augmentation.relu_bias).clip(0)
    out = augmentation.transform(samples())
    assert augmentation.relu_weight.shape == (17, 9)
    close(out, np.hstack([with_constant(samples()), expected]))
    assert expected.max() > 0


FULL = {"connection": "A", "unit": True, "tanh_nodes": 5, "relu_nodes": 9}


@pytest.mark.parametrize("options", [{}, {"connection": "G"}, FULL])
def test_fit_follows_from_its_seed(options):
    Z = samples(5)
    assert np.array_equal(
        fitted(seed=1, **options).transform(Z), fitted(seed=1, **options).transform(Z)
    )
    assert not np.array_equal(
        fitted(seed=1, **options).transform(Z), fitted(seed=2, **options).transform(Z)
    )


@pytest.mark.parametrize("options", [{}, {"connection": "G", "activation": "tanh"}, FULL])
def test_representation_of_a_sample_ignores_the_rest_of_the_batch(options):
    augmentation, Z = fitted(**options), samples(20, seed=1)
    together = augmentation.transform(Z)
    alone = np.concatenate([augmentation.transform(row[None]) for row in Z])
    close(together, alone, rtol=1e-10, atol=1e-10)
    close(augmentation.transform(Z[::-1])[::-1], together, rtol=1e-10, atol=1e-10)


def test_config_rebuilds_the_augmentation():
    augmentation = Augmentation(**FULL, groups=2, alpha=0.3)
    assert Augmentation(**augmentation.config).config == augmentation.config
    assert augmentation.config["alpha"] == 0.3


STATE = {"weight", "shift", "factor", "tanh_weight", "relu_weight", "relu_bias"}


@pytest.mark.parametrize("options", [{"connection": "Z"}, {"connection": "G"}, FULL])
def test_state_rebuilds_the_map(options):
    augmentation = fitted(**options) if options["connection"] != "Z" else Augmentation("Z")
    state = augmentation.state()
    assert state.keys() == STATE
    if options is not FULL:
        assert {name for name, value in state.items() if value.size == 0} >= {"tanh_weight"}
    again = Augmentation(**augmentation.config)
    again.restore(state)
    assert np.array_equal(again.transform(samples(5)), augmentation.transform(samples(5)))


@pytest.mark.parametrize("options", [{}, {"connection": "G", "activation": "tanh"}, FULL])
def test_tensors_give_what_arrays_give(options):
    torch = pytest.importorskip("torch")
    augmentation = fitted(**options)
    expected = augmentation.transform(samples(9, seed=3))
    on_torch = fitted(Z=torch.from_numpy(samples()), **options)
    assert all(isinstance(value, torch.Tensor) for value in on_torch.state().values() if len(value))
    augmentation.to(torch.device("cpu"))
    for one in (on_torch, augmentation):
        A = one.transform(torch.from_numpy(samples(9, seed=3)))
        assert isinstance(A, torch.Tensor) and A.dtype == torch.float64
        close(A.numpy(), expected)
    augmentation.to("cpu")
    close(augmentation.transform(samples(9, seed=3)), expected, rtol=0, atol=0)


def test_single_precision_stays_single():
    Z = samples().astype(np.float32)
    augmentation = fitted(Z=Z, **FULL)
    assert all(value.dtype == np.float32 for value in augmentation.state().values())
    assert augmentation.transform(Z).dtype == np.float32


@pytest.mark.parametrize("activation", ACTIVATION)
@pytest.mark.parametrize("connection", ["Z", "G", "G*", "A", "Z+G"])
def test_graph_computes_the_same(connection, activation, run_graph):
    augmentation = fitted(connection=connection, activation=activation, constant=0.5)
    Z = samples(5).astype(np.float32)
    found = run_graph(augmentation.write_graph, Z)
    np.testing.assert_allclose(found, augmentation.transform(samples(5)), atol=1e-5)


def test_graph_of_both_layers_computes_the_same(run_graph):
    augmentation = fitted(**FULL)
    augmentation.tanh_weight = (
        augmentation.tanh_weight / 100
    )  # else tanh magnifies what was rounded
    found = run_graph(augmentation.write_graph, samples(5).astype(np.float32))
    np.testing.assert_allclose(found, augmentation.transform(samples(5)), atol=1e-5)
