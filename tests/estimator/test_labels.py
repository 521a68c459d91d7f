import numpy as np
import pytest

from clsnet import CLSNet, load
from clsnet.errors import ClsnetError

X = np.random.RandomState(0).standard_normal((40, 5)) + 6 * np.eye(5)[np.arange(40) % 4]
LARGE = np.array([2**63 + 1, 2**63 + 2, 5, 6], np.uint64)[np.arange(40) % 4]


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
@pytest.mark.parametrize("given", [LARGE, LARGE.tolist()], ids=["array", "list"])
def test_labels_of_64_bits_stay_exact(tmp_path, retain, given):
    model = CLSNet(retain=retain, device="cpu").partial_fit(X, given)
    model.partial_fit(X[:4], [7, 7, 8, 8]).save(tmp_path / "m")
    again = load(tmp_path / "m", device="cpu")
    assert again.classes_.tolist() == [5, 6, 2**63 + 1, 2**63 + 2, 7, 8]
    assert (again.predict(X[4:]) == LARGE[4:]).mean() > 0.9
    if retain == "classes":
        assert 2**63 + 1 not in again.forget(classes=[2**63 + 1]).classes_.tolist()


@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, dtype=object)])
def test_labels_that_differ_in_a_trailing_nul_are_refused(kind):
    with pytest.raises(ClsnetError, match="ends with a NUL, which NumPy drops"):
        CLSNet(device="cpu").partial_fit(X, kind(["a", "a\0"] * 20))


@pytest.mark.parametrize("labels", [[-1, 2**63], [1, 2**64]])
def test_whole_numbers_that_no_array_holds_are_refused(labels):
    with pytest.raises(ClsnetError, match="more than 64 bits"):
        CLSNet(device="cpu").partial_fit(X, labels * 20)


def test_a_label_that_no_file_could_hold_is_refused():
    with pytest.raises(ClsnetError, match="a label has more than 10,000 letters"):
        CLSNet(device="cpu").partial_fit(X, ["a", "b" * 10_001] * 20)
