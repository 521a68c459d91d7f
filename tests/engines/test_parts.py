"""What all engines share."""

import pickle

import numpy as np
import pytest

from clsnet import CLSNet, ClsnetError
from clsnet.engines.parts import Summing, some, total
from tests.engines.reading import OPTIONS, Reader, X, Y


def test_nothing_that_was_learned_is_sent(tmp_path):
    model = CLSNet(**OPTIONS)
    before = len(pickle.dumps(Summing(model.prepare(X), Reader(tmp_path))))
    model.fit(X, Y)
    assert len(pickle.dumps(Summing(model, Reader(tmp_path)))) <= before + 100


def test_empty_parts_are_left_out(tmp_path):
    summing = Summing(CLSNet(**OPTIONS), Reader(tmp_path))
    assert summing([]) is None
    assert total([None, summing(range(100)), None, summing(range(100, 300))]).n_samples == 300
    with pytest.raises(ClsnetError, match="all parts of the data are empty"):
        some(total([None]))


def test_workers_do_not_fit_an_extractor_of_their_own(tmp_path):
    model = CLSNet(backbone="identity", **OPTIONS)
    with pytest.raises(ClsnetError, match=r"call model\.prepare\(X\) first"):
        Summing(model, Reader(tmp_path))(range(100))
    sums = Summing(model.prepare(X), Reader(tmp_path))(np.arange(len(X)))
    assert model.learn_sums(sums).score(X, Y) > 0.9
