import numpy as np
import pytest

from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.quadrature import Quadrature


def problem(size=80, decay=6.0, seed=0):
    random = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(random.standard_normal((size, size)))
    values = 10 ** random.uniform(-decay, 0, size)
    columns = random.standard_normal((size, 3))
    return (Q * values) @ Q.T, columns


def literal(G, columns, ridge):
    M = np.linalg.inv(G + ridge * np.eye(len(G)))
    return np.diag(columns.T @ M @ columns), np.diag(columns.T @ M @ M @ columns)


@pytest.mark.parametrize("ratio", [0.1, 0.3, 1.0, 3.0, 10.0])
def test_forms_converge_to_those_of_the_inverse_at_the_rate_that_is_told(ratio, on):
    G, columns = problem()
    ridge = 1e-3
    quadrature = Quadrature(Factor.of(on(G), ridge), on(columns))
    expected = literal(G, columns, ratio * ridge)
    for _ in range(16):
        quadrature.step()
    for n_steps in range(2, 17):
        for form, exact in zip(quadrature.forms(ratio * ridge, n_steps), expected, strict=True):
            bound = 4 * n_steps * quadrature.rate(ratio * ridge) ** (n_steps - 1) + 1e-9
            np.testing.assert_allclose(form, exact, rtol=bound)


def test_a_used_up_space_and_a_zero_column_change_nothing(on):
    columns = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    quadrature = Quadrature(Factor.of(on(np.diag([1.0, 1.0, 2.0])), 1.0), on(columns))
    for _ in range(6):
        quadrature.step()
        inverse, squared = quadrature.forms(3.0)
        np.testing.assert_allclose(inverse, [2 / 4, 0], atol=1e-14)
        np.testing.assert_allclose(squared, [2 / 16, 0], atol=1e-14)


@pytest.mark.parametrize("ratio", [0.9, 1.0, 1.002, 1.2])
def test_solutions_converge_too(ratio, on):
    G, columns = problem()
    ridge = 1e-3
    quadrature = Quadrature(Factor.of(on(G), ridge), on(columns))
    expected = np.linalg.solve(G + ratio * ridge * np.eye(len(G)), columns[:, :2])
    errors = []
    for _ in range(8):
        errors.append(np.linalg.norm(np.asarray(quadrature.solution(ratio * ridge, 2)) - expected))
        quadrature.step()
    size = np.linalg.norm(expected)
    assert errors[-1] < 1e-7 * size
    if ratio == 1.0:  # the factorised ridge itself: one step leaves nothing but rounding
        assert max(errors[1:]) < 1e-12 * size
    else:
        assert errors[3] < errors[1] < errors[0]
