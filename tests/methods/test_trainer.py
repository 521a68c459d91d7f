import numpy as np
import pytest

from clsnet.data import load_folder
from clsnet.methods.ewc import EWC
from clsnet.methods.rm import RM

SMALL = {"hidden": (16,), "epochs": 2, "batch_size": 20, "device": "cpu"}


@pytest.mark.parametrize("kind", [EWC, RM])
def test_images_on_disk_are_learned_and_predicted_like_their_pixels(shapes_folder, kind):
    data = load_folder(shapes_folder)
    models = [kind(**SMALL), kind(**SMALL)]
    for classes in ([0, 1], [2, 3]):
        task = np.isin(data.y_train, classes)
        for model, X in zip(models, (data.X_train, np.asarray(data.X_train)), strict=True):
            model.partial_fit(X[task], data.y_train[task])
    lazy, plain = models
    assert lazy.scale == plain.scale == np.asarray(data.X_train)[data.y_train < 2].max()
    np.testing.assert_array_equal(lazy.predict(data.X_test), plain.predict(np.asarray(data.X_test)))
