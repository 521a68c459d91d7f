import numpy as np
import pytest

from clsnet.arrays.linalg import eigh
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.curvatures import FewSamples
from clsnet.classifier.remembering import MERGED
from clsnet.classifier.ridge.error_curve import GRID
from clsnet.classifier.ridge.normal_equations import NEGLIGIBLE, NormalEquations
from clsnet.classifier.ridge.rule import regress
from clsnet.classifier.ridge.spectrum import Spectrum, most_few, spanning
from clsnet.classifier.rule import TOTAL, Rule
from tests.literal import one_hot

CPU = "cpu"
SIZE = 1200  # so large that the walk begins with a quarter of the columns, and goes by curves
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.standard_normal((30, SIZE))
CENTRES = RANDOM.standard_normal((5, 30)) * 0.5


def samples(n, seed=0, classes=range(5)):
    random = np.random.default_rng(seed)
    y = np.resize(np.array(classes), n)
    A = np.maximum((CENTRES[y] + random.standard_normal((n, 30))) @ WEIGHTS, 0)
    return A, y


def sums(A, y):
    """The same samples, as rows and as a Gram matrix."""
    cross = A.T @ one_hot(y, range(5))
    return NormalEquations(None, cross, len(A), A), NormalEquations(A.T @ A, cross, len(A))


@pytest.fixture(params=["plain", "one", "twice", "few classes"])
def data(request):
    n = 1 if request.param == "one" else 60
    A, y = samples(n, classes=range(2) if request.param == "few classes" else range(5))
    return (A[np.arange(n) // 2], y[np.arange(n) // 2]) if request.param == "twice" else (A, y)


@pytest.mark.parametrize("ridge", [GRID[13], GRID[18], GRID[-1]])
def test_sums_are_those_of_the_inverse(data, ridge):
    few, _ = sums(*data)
    A, B = few.rows, few.cross
    value = ridge * few.scale
    M = np.linalg.inv(A.T @ A + value * np.eye(SIZE))
    expected = [np.trace(B.T @ M @ B), np.sum((M @ B) ** 2), np.trace(A.T @ A @ M)]
    np.testing.assert_allclose(few.spectrum.sums(value), expected, rtol=1e-6)
    solution = few.spectrum.solution(value)
    np.testing.assert_allclose(solution, M @ B, atol=1e-7 * np.abs(M @ B).max())


@pytest.mark.parametrize("n", [301, 900, 901])
def test_fewer_samples_than_columns_are_decomposed_in_the_smaller_form(n, monkeypatch):
    by_rows, by_gram = sums(*samples(n))
    assert not by_rows.few
    one, other = regress(by_rows), regress(by_gram)
    assert one.ridge == pytest.approx(other.ridge, rel=1e-12)
    np.testing.assert_allclose(one.omega, other.omega, rtol=0, atol=1e-8 * abs(other.omega).max())
    sizes = []
    monkeypatch.setattr(
        "clsnet.classifier.ridge.spectrum.eigh", lambda M: sizes.append(len(M)) or eigh(M)
    )
    assert sums(*samples(n))[0].spectrum is not None
    assert sizes == [n if n <= 900 else SIZE]


@pytest.mark.parametrize("ridge", ["auto", 1e-4, 0.1])
def test_few_samples_and_their_gram_matrix_have_one_answer(data, ridge):
    few, gram = sums(*data)
    one, other = regress(few, ridge), regress(gram, ridge)
    assert one.ridge == pytest.approx(other.ridge, rel=1e-12)
    assert one.error == pytest.approx(other.error, rel=1e-6)
    scale = abs(other.omega).max()
    np.testing.assert_allclose(one.omega, other.omega, rtol=0, atol=1e-7 * scale)


def literal_error(A, y, value):
    """The error on samples left out, from the matrix that turns targets into scores."""
    A, Y, n = A, one_hot(y, range(5)), len(A)
    hat = A @ A.T @ np.linalg.inv(A @ A.T + value * np.eye(n))
    residual, left = np.sum((Y - hat @ Y) ** 2), n - np.trace(hat)
    return residual / left**2 if residual > NEGLIGIBLE * n and left >= 0.01 * n else np.inf


@pytest.mark.parametrize("index", [0, 6, 12, 18, 24])
def test_errors_are_those_of_the_formula(data, index):
    few, gram = sums(*data)
    value = GRID[index] * few.scale
    expected = literal_error(*data, value)
    assert few.left_out_error(value) == pytest.approx(expected, rel=1e-4)
    assert gram.left_out_error(value) == pytest.approx(expected, rel=1e-4)


def test_the_ridge_is_the_first_from_the_largest_that_has_the_least_error(data):
    few, _ = sums(*data)
    errors = [literal_error(*data, relative * few.scale) for relative in GRID]
    index = len(GRID) - 1
    while errors[index - 1] < (1 - 1e-9) * errors[index]:
        index -= 1
    assert regress(few).ridge == pytest.approx(GRID[index] * few.scale)


def test_rows_are_found_for_a_gram_matrix_and_none_if_samples_are_more_than_told(data):
    A, _ = data
    rows = spanning(A.T @ A, len(A))
    assert len(rows) <= len(A) + 8
    np.testing.assert_allclose(rows.T @ rows, A.T @ A, rtol=1e-7, atol=1e-7)
    more, _ = samples(60)
    assert spanning(more.T @ more, n_samples=40) is None


@pytest.mark.parametrize("ridge", [1e-12, 1e-8, 1e-3])
def test_a_tiny_ridge_costs_no_digits(data, ridge):
    """Written for samples, as ``A'(A A' + ridge I)^-1 Y``, it is an innocent matrix."""
    few, _ = sums(*data)
    A, Y = data[0], one_hot(data[1], range(5))
    value = ridge * few.scale
    expected = A.T @ np.linalg.lstsq(A @ A.T + value * np.eye(len(A)), Y, rcond=1e-15)[0]
    found = few.spectrum.solution(value)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


def test_no_ridge_at_all_is_left_to_the_general_solution():
    few, many = sums(*samples(20))
    one, other = regress(few, 0.0).omega, regress(many, 0.0).omega
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)


def test_samples_that_are_all_zero_have_no_spectrum_and_no_weights():
    spectrum = Spectrum(np.zeros((3, SIZE)), np.zeros((SIZE, 2)))
    assert spectrum.sums(1.0) == (0.0, 0.0, 0.0)
    assert abs(spectrum.solution(1.0)).max() == 0


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
def test_whether_samples_are_few_makes_no_difference(retain):
    """Ten tasks, the first of which are few together, in two orders, and all at once."""
    most = SIZE // MERGED if retain == TOTAL else most_few(SIZE)
    tasks = [samples(most // 4, seed, classes=(seed % 5, 4)) for seed in range(10)]
    models = []
    for order in (tasks, tasks[::-1]):
        model = AnalyticClassifier(Rule(retain=retain), SIZE, CPU)
        for number, (A, y) in enumerate(order):
            model = model.learn(lambda A=A, y=y: [(A, y)])
            if retain == TOTAL:
                assert isinstance(model.traces[TOTAL], FewSamples) == (number < 4)
        models.append(model)
    A, y = (np.concatenate([task[i] for task in tasks]) for i in range(2))
    whole, _ = sums(A, y)
    expected = regress(NormalEquations(whole.gram, whole.cross, len(A))).omega
    scale = abs(expected).max()
    for model in models:
        columns = [model.labels.index(label) for label in range(5)]
        np.testing.assert_allclose(model.omega[:, columns], expected, rtol=0, atol=1e-8 * scale)


def test_few_samples_need_no_matrix_of_all_columns():
    model = AnalyticClassifier(Rule(), SIZE, CPU)
    for seed in range(3):
        A, y = samples(10, seed)
        model = model.learn(lambda A=A, y=y: [(A, y)])
        assert model.factor is None
        assert "gram" not in vars(model.traces[TOTAL])
    kept = sum(array.size for array in model.traces[TOTAL].arrays().values())
    assert kept == (30 + 5) * SIZE
