"""``clsnet merge`` of files of sums."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet import CLSNet, Sums, load

X, Y = load_digits(return_X_y=True)
SMALL = {"groups": 2, "group_size": 5, "ridge": 1e-3}


@pytest.fixture
def places(tmp_path):
    """Sums of three places, and a model of a fourth."""
    for i in range(3):
        CLSNet(**SMALL).summarise([(X[i::4], Y[i::4])]).save(tmp_path / f"{i}.sums")
    CLSNet(**SMALL).fit(X[3::4], Y[3::4]).save(tmp_path / "model.clsnet")
    return tmp_path


def test_sums_become_sums_and_a_model_learns_them(places, run_warm):
    files = [places / f"{i}.sums" for i in range(3)]
    done = run_warm("merge", *files, "-o", places / "all.sums")
    assert done.status == 0, done.err
    assert "3 files of sums" in done.out
    assert Sums.load(places / "all.sums").n_samples == len(X[0::4]) + len(X[1::4]) + len(X[2::4])
    done = run_warm("merge", places / "model.clsnet", *files, "-o", places / "new.clsnet")
    assert done.status == 0, done.err
    whole, merged = CLSNet(**SMALL).fit(X, Y), load(places / "new.clsnet")
    np.testing.assert_allclose(merged.decision_function(X), whole.decision_function(X), atol=1e-8)


def test_bad_input_is_one_line_and_nothing_is_written(places, run_warm):
    CLSNet(**{**SMALL, "random_state": 1}).summarise([(X, Y)]).save(places / "other.sums")
    (places / "cut.sums").write_bytes((places / "0.sums").read_bytes()[:-9])
    cases = {
        "random_state": ["0.sums", "other.sums"],
        "damaged": ["0.sums", "cut.sums"],
        "each once": ["0.sums", "0.sums"],
        "No such file": ["0.sums", "none.sums"],
        "are no sums": ["0.sums", "model.clsnet", "cut.sums"],
    }
    for told, names in cases.items():
        done = run_warm("merge", *(places / name for name in names), "-o", places / "out")
        assert done.status == 2, told
        assert told in done.err
        assert len(done.err.strip().splitlines()) == 1
        assert not (places / "out").exists()
    done = run_warm("merge", places / "0.sums", places / "1.sums", "-o", places / "2.sums")
    assert done.status == 2
    assert "--overwrite" in done.err
