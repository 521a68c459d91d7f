import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clsnet.evaluation.metrics import average_accuracy, backward_transfer, forward_transfer
from clsnet.evaluation.protocol import Outcome

fractions = st.floats(0, 1)


@st.composite
def outcomes(draw):
    n_tasks = draw(st.integers(1, 7))
    R = [draw(st.lists(fractions, min_size=t, max_size=t)) for t in range(1, n_tasks + 1)]
    return R, draw(st.lists(fractions, min_size=n_tasks, max_size=n_tasks))


@given(outcomes())
def test_average_accuracy_is_the_mean_of_the_last_row(outcome):
    R, _ = outcome
    T = len(R)
    total = 0.0
    for t in range(T):
        total += R[T - 1][t]
    np.testing.assert_allclose(average_accuracy(R), total / T)


@given(outcomes())
def test_backward_transfer_is_what_became_of_old_tasks(outcome):
    R, _ = outcome
    T = len(R)
    if T == 1:
        assert backward_transfer(R) is None
        return
    total = 0.0
    for t in range(T - 1):
        total += R[T - 1][t] - R[t][t]
    np.testing.assert_allclose(backward_transfer(R), total / (T - 1), atol=1e-12)


@given(outcomes())
def test_forward_transfer_compares_with_independent_models(outcome):
    R, independent = outcome
    T = len(R)
    if T == 1:
        assert forward_transfer(R, independent) is None
        return
    total = 0.0
    for t in range(1, T):
        total += R[t][t] - independent[t]
    np.testing.assert_allclose(forward_transfer(R, independent), total / (T - 1), atol=1e-12)


@given(outcomes())
def test_without_independent_models_there_is_no_forward_transfer(outcome):
    R, independent = outcome
    metrics = Outcome(R, [], {}, {}).metrics()
    assert metrics["fwt"] is None
    assert metrics == {**Outcome(R, independent, {}, {}).metrics(), "fwt": None}


def test_a_perfect_memory_has_no_backward_transfer():
    assert backward_transfer([[0.9], [0.9, 0.8], [0.9, 0.8, 0.7]]) == 0
