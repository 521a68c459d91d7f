"""The model that has seen everything in one process."""

import numpy as np
import pytest

from clsnet import CLSNet
from tests.engines.reading import OPTIONS, X, Y


@pytest.fixture(scope="session")
def alone():
    return CLSNet(**OPTIONS).fit(X, Y)


@pytest.fixture
def assert_same(alone):
    """Sums that some engine has taken are those of all samples."""

    def check(sums):
        model = CLSNet(**OPTIONS).learn_sums(sums)
        assert model.tasks_ == alone.tasks_
        mine, theirs = model.classifier_.omega, alone.classifier_.omega
        assert np.linalg.norm(mine - theirs) <= 1e-10 * np.linalg.norm(theirs)

    return check
