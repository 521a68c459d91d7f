import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from clsnet import CLSNet
from clsnet.estimator.features import FEATURES, new_extractor
from clsnet.methods import methods
from clsnet.methods.learner import ExtractorLearner
from clsnet.methods.slda import SLDA

SMALLER = {
    **{key: {"nodes": 300} for key in ("acil", "air", "anacp", "ds-al", "klda", "ranpac")},
    "loranpac": {"nodes": 500, "rank": 100},
    "logistic": {"penalty": 0.01},
}
NAMES = [name for name, method in methods().items() if method.family == "analytic"] + ["logistic"]

ORDER_MATTERS = {"ds-al", "loranpac", "ranpac"}


def build(name):
    return methods()[name].build(0, "fast", device="cpu", **SMALLER.get(name, {}))


def test_options_are_those_that_the_extractor_reads():
    read = set()

    class Noting(SimpleNamespace):
        def __getattribute__(self, name):
            read.add(name)
            return super().__getattribute__(name)

    new_extractor(Noting(**CLSNet().get_params()), (4,))
    # Curvature and terms say whether columns of vectors can be standardised from sums.
    assert read == {*FEATURES, "preset", "random_state", "curvature", "terms"}


@pytest.mark.parametrize("name", sorted({*CLSNet().get_params()} - {*FEATURES, "preset", "device"}))
def test_options_of_our_own_classifier_are_refused(name):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        SLDA(**{name: CLSNet().get_params()[name]})


@pytest.mark.parametrize("name", NAMES)
def test_every_closed_form_takes_the_options_of_the_extractor(name):
    options = {name: CLSNet().get_params()[name] for name in FEATURES}
    methods()[name].build(0, "fast", device="cpu", **options)


@pytest.mark.parametrize("name", sorted({*NAMES} - ORDER_MATTERS))
def test_order_and_division_into_tasks_do_not_matter(name, vectors):
    model = build(name)
    for task in vectors[:3]:
        model.partial_fit(task.X_train, task.y_train)
    assert model.follows_from_sums
    twin = model.twin()
    for task in reversed(vectors[:3]):
        half = len(task.y_train) // 2
        twin.partial_fit(task.X_train[half:], task.y_train[half:])
        twin.partial_fit(task.X_train[:half], task.y_train[:half])
    X = np.concatenate([task.X_test for task in vectors])
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_vectors_does_not_matter(name, unit, vectors):
    models = build(name), build(name)
    for task in vectors[:2]:
        models[0].partial_fit(task.X_train, task.y_train)
        models[1].partial_fit(unit * task.X_train, task.y_train)
    X = np.concatenate([task.X_test for task in vectors[:2]])
    assert np.mean(models[0].predict(X) == models[1].predict(unit * X)) > 0.99


def test_a_refused_option_ends_a_benchmark_before_it_runs(run_warm, tmp_path):
    words = ("bench", "Digits-10/5", "--method", "slda", "--option", "gamma=2", "--out", tmp_path)
    done = run_warm(*words)
    assert done.status == 2
    assert "the method 'slda' has no option 'gamma'" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_torch_answers_as_numpy_does(name, vectors):
    torch = pytest.importorskip("torch")
    models = [build(name), build(name)]
    models[1].device = torch.device("cpu")  # tensors from here on, as on a GPU
    for task in vectors[:2]:
        for model in models:
            model.partial_fit(task.X_train, task.y_train)
    X = np.concatenate([task.X_test for task in vectors[:2]])
    ours, theirs = (model.predict(X) for model in models)
    assert isinstance(models[1].extractor_.transform(X), torch.Tensor)
    assert np.mean(ours == theirs) > 0.99
    assert models[0].memory() == models[1].memory()


@pytest.mark.parametrize("name", NAMES)
def test_the_extractor_is_shared_with_models_of_one_task(name, vectors):
    model = build(name).partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert isinstance(model, ExtractorLearner)


def test_closed_forms_import_no_torch():
    modules = ", ".join(methods()[name].module.rpartition(".")[2] for name in NAMES)
    code = (
        f"import sys; from clsnet.methods import clsnet, {modules}; "
        "ncm.NCM(device='cpu'); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
