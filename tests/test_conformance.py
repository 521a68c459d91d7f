"""What every method of the benchmark promises, ours and each compared one."""

import numpy as np
import pytest
import safetensors.numpy

from clsnet import load
from clsnet.checks import method_checks, tasks
from clsnet.methods import get_method, methods

# Those that need a pretrained network are checked in their own tests, with a tiny one.
METHODS = {name: one for name, one in methods().items() if one.needs is None}
SMALL_NETWORK = {"hidden": (100,), "batch_size": 20}
SMALL_AUTOENCODER = {**SMALL_NETWORK, "latent": 20, "epochs": 8, "learning_rate": 0.003}
# Methods that would take minutes; what is promised does not depend on their size.
OPTIONS = {
    "anacp": {"nodes": 300},
    "ari": {**SMALL_NETWORK, "budget": 200},
    "dmc": {**SMALL_NETWORK, "n_auxiliary": 200, "merge_epochs": 10},
    "dytox": {
        **{"hidden": (32,), "width": 16, "patch": 4, "budget": 200, "batch_size": 30},
        **{"epochs": 5, "tuning_epochs": 5, "learning_rate": 0.01},
    },
    "fs-dgpm": {**SMALL_NETWORK, "budget": 200},
    "gem": {**SMALL_NETWORK, "budget": 200, "epochs": 3},
    "il2m": {**SMALL_NETWORK, "budget": 4},
    # With a stricter promise, or a deeper network, it does not learn a second task at all; see
    # its docstring. Its own tests hold it to all other checks at the default promise.
    "intercontinet": {"hidden": (), "batch_size": 20, "threshold": 0.1, "epochs": 30},
    "klda": {"nodes": 300, "n_models": 2},
    "logd": {**SMALL_NETWORK, "budget": 200},
    "logistic": {"penalty": 0.01},
    "loranpac": {"nodes": 1000, "rank": 200},
    "pcl": {**SMALL_NETWORK, "task_units": 20, "epochs": 10},
    "spacenet": {**SMALL_NETWORK, "epochs": 10, "learning_rate": 0.05},
    "eft": SMALL_NETWORK,
    "rm": {**SMALL_NETWORK, "budget": 200},
    "rps-net": {**SMALL_NETWORK, "budget": 200, "epochs": 5},
    **{key: {**SMALL_NETWORK, "budget": 200} for key in ("der", "foster", "icarl", "memo")},
    **{key: {"nodes": 500} for key in ("acil", "air", "ds-al", "ranpac")},
    **dict.fromkeys(("bir", "rtf"), SMALL_AUTOENCODER),
    "i-ctrl": {**SMALL_AUTOENCODER, "batch_size": 50, "directions": 5},
    **dict.fromkeys(("ewc", "joint", "mas", "none", "owm", "si"), SMALL_NETWORK),
}
CHECKS = {
    f"{name}-{check}": check
    for name, method in METHODS.items()
    for check in method_checks(method, **OPTIONS.get(name, {}))
}


@pytest.mark.parametrize("check", CHECKS)
def test_method(check):
    if METHODS[check.rpartition("-")[0]].family not in ("ours", "analytic"):
        pytest.importorskip("torch")
    CHECKS[check]()


def pixels(X):
    """A frozen backbone: what it gives does not depend on any task."""
    return X.reshape(len(X), -1) / 240


@pytest.mark.parametrize(
    ("name", "options", "free"),
    [
        ("clsnet", {}, True),
        ("clsnet", {"retain": "classes"}, True),
        ("clsnet", {"connection": "A"}, False),
        ("clsnet", {"curvature": "low-rank"}, False),
        ("clsnet", {"gamma": 0.5}, False),
        ("clsnet", {"terms": (1, 2, 3)}, False),
        ("clsnet", {"queue": 1, "retain": "tasks"}, False),
        ("clsnet-paper", {}, False),
        ("ncm", {}, True),
        ("slda", {}, True),
        ("acil", {"nodes": 500}, True),
        ("anacp", {"nodes": 300}, True),
        ("fecam", {}, True),
        ("klda", {"nodes": 300}, True),
        ("logistic", {"penalty": 0.01}, True),
        ("air", {"nodes": 500}, True),
        ("ds-al", {"nodes": 500}, False),
        ("loranpac", {}, False),
        ("ranpac", {"nodes": 500}, False),
    ],
    ids=str,
)
def test_a_learner_of_frozen_features_says_whether_the_order_of_tasks_matters(name, options, free):
    options = {"backbone": pixels, **options}
    learner = get_method(name).build(0, "fast", **options)
    for task in tasks()[:2]:
        learner.partial_fit(task.X_train, task.y_train)
    assert learner.order_free == free
    check_order(name, **options)


def check_order(name, **options):
    checks = {check.name: check for check in method_checks(get_method(name), **options)}
    checks["another_order_gives_the_same_answers"]()


@pytest.mark.parametrize(
    "name", [name for name, method in METHODS.items() if method.presets and method.backbones]
)
def test_frozen_features_keep_what_a_learner_says_of_the_order_true(name):
    check_order(name, backbone=pixels, **OPTIONS.get(name, {}))


def test_every_method_but_bounds_and_means_says_how_to_switch_its_mechanism_off():
    unprotected = {name for name, method in METHODS.items() if method.without is None}
    assert unprotected == {"joint", "logistic", "ncm", "none"}


# ------------------------------------------------------------------------- our own method


@pytest.fixture(scope="module")
def learned():
    def learn(name, **options):
        model = get_method(name).build(0, "fast", **options)
        for task in tasks()[:2]:
            model.partial_fit(task.X_train, task.y_train)
        return model

    return learn


@pytest.mark.parametrize("name", ["clsnet-paper", "clsnet-demo"])
def test_the_papers_plasticity_holds_classes_seen_and_to_come(name, learned):
    traces = learned(name).classifier_.traces
    assert len(traces) == 2
    for trace in traces.values():
        assert (trace.plasticity >= 0).all() and (trace.plasticity.sum(axis=0) > 0).all()
        assert (trace.phantom >= 0).all() and trace.phantom.sum() > 0


OPTIONS_OF_OURS = [
    ("clsnet", {}),
    ("clsnet", {"connection": "Z+G"}),
    ("clsnet-paper", {}),
    ("clsnet-demo", {}),
]


@pytest.mark.parametrize(("name", "options"), OPTIONS_OF_OURS)
def test_memory_is_what_the_saved_file_holds(name, options, learned, tmp_path):
    model = learned(name, **options)
    model.save(tmp_path / "file")
    held = safetensors.numpy.load_file(tmp_path / "file").values()
    n_numbers = sum(tensor.size for tensor in held)
    assert model.memory().model_mb == pytest.approx(4 * n_numbers / 2**20)


@pytest.mark.parametrize(("name", "options"), OPTIONS_OF_OURS)
def test_all_that_is_needed_is_in_the_saved_file(name, options, learned, tmp_path):
    model = learned(name, **options)
    model.save(tmp_path / "file")
    loaded, X = load(tmp_path / "file"), tasks()[2].X_test
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))


def test_random_weights_that_follow_from_the_seed_are_not_counted(learned):
    plain, wider = (learned("clsnet", connection=kind) for kind in ("Z", "Z+G"))
    inputs, nodes = wider.extractor_.augmentation.weight.shape
    size = inputs + nodes
    grown = size * (size + 1) // 2 - inputs * (inputs + 1) // 2  # of the Gram matrix
    grown += 2 * 4 * nodes  # of class sums and weights, of four classes
    more = round((wider.memory().model_mb - plain.memory().model_mb) * 2**20 / 4)
    assert more == grown + 2 * nodes  # shift and factor of each node
