import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from clsnet import CLSNet, load, merge
from clsnet.errors import ClsnetError

X, Y = load_digits(return_X_y=True)
X, Y = X[:600] / 16, Y[:600]
HALVES = np.arange(600) < 250, np.arange(600) >= 250


def taught(rows, images=False, **options):
    data = X.reshape(-1, 8, 8) if images else X
    model = CLSNet(**{"groups": 2, "group_size": 10, "device": "cpu", **options})
    return model.partial_fit(data[rows], Y[rows])


def refusal(*models):
    with pytest.raises(ClsnetError) as caught:
        merge(*models)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
@pytest.mark.parametrize("images", [False, True])
def test_a_merged_model_is_the_one_that_saw_everything(retain, images, tmp_path):
    parts = [taught(rows, images, retain=retain) for rows in HALVES]
    whole = taught(slice(None), images, retain=retain)
    both = merge(*parts)
    order = [both.classes_.tolist().index(label) for label in whole.classes_]
    omega, expected = both.classifier_.omega[:, order], whole.classifier_.omega
    assert abs(omega - expected).max() < 1e-8 * abs(expected).max()
    data = X.reshape(-1, 8, 8) if images else X
    np.testing.assert_allclose(
        both.predict_proba(data)[:, order], whole.predict_proba(data), atol=1e-8
    )
    assert [task.n_samples for task in both.tasks_] == [250, 350]
    both.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(data), whole.predict(data))


def test_three_models_and_a_merged_one_go_on_learning():
    parts = [taught(np.arange(600) % 4 == i) for i in range(3)]
    before = parts[0].decision_function(X)
    both = merge(*parts).partial_fit(X[3::4], Y[3::4])
    np.testing.assert_allclose(
        both.decision_function(X), taught(slice(None)).decision_function(X), atol=1e-8
    )
    np.testing.assert_array_equal(parts[0].decision_function(X), before)


def test_balanced_classes_are_balanced_over_all():
    options = {"retain": "classes", "class_weight": "balanced"}
    both = merge(*(taught(rows, **options) for rows in HALVES))
    whole = taught(slice(None), **options)
    order = [both.classes_.tolist().index(label) for label in whole.classes_]
    np.testing.assert_allclose(
        both.decision_function(X)[:, order], whole.decision_function(X), atol=1e-8
    )


DIFFERENT = {
    "ridge": {"ridge": 1e-3},
    "retain": {"retain": "classes"},
    "random_state": {"random_state": 1},
    "backbone": {"backbone": "identity"},
    "terms": {"terms": (2, 1)},
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_named(name):
    line = refusal(taught(HALVES[0]), taught(HALVES[1], **DIFFERENT[name]))
    assert f"models of different {name}" in line


def test_features_fitted_to_different_tasks_are_refused():
    parts = [taught(rows, backbone="identity") for rows in HALVES]
    assert "samples that the extractor was fitted to" in refusal(*parts)


def test_shapes_and_columns_must_agree():
    images = taught(HALVES[0], images=True)
    assert "different shapes of samples" in refusal(images, taught(HALVES[1]))
    frames = [pd.DataFrame(X[:, :3], columns=list(names)) for names in ("abc", "abd")]
    models = [CLSNet(groups=1, device="cpu").partial_fit(frame, Y) for frame in frames]
    assert "different names of columns" in refusal(*models)
    assert merge(models[0], models[0].twin().partial_fit(frames[0], Y)).n_features_in_ == 3


def test_a_model_with_itself_one_model_and_a_blank_one_are_refused():
    model = taught(HALVES[0])
    assert "given twice" in refusal(model, model)
    assert "two models or more" in refusal(model)
    with pytest.raises(ValueError, match="not fitted"):
        merge(model, CLSNet())


def test_models_that_forget_by_a_policy_are_refused():
    parts = [taught(rows, retain="tasks", queue=3) for rows in HALVES]
    assert "no policy of forgetting" in refusal(*parts)


def test_models_of_photos_have_a_merge_of_their_own():
    parts = [taught(rows) for rows in HALVES]
    parts[1].notes_ = {"photos": {}}
    assert "clsnet.photos.merge" in refusal(*parts)
