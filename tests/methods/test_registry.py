import subprocess
import sys

import pytest

from clsnet.checks import check_method
from clsnet.errors import ClsnetError
from clsnet.methods import Method, check_options, get_method, known_options, methods
from clsnet.pretraining.joint_finetuned import METHOD as JOINT_FINETUNED

OUTSIDE = """
import numpy as np
from clsnet.memory import MemoryUse
from clsnet.methods import Method


class NearestMean:
    def __init__(self, seed=0):
        self.sums, self.counts = {}, {}

    def partial_fit(self, X, y):
        for label in np.unique(y).tolist():
            rows = X[y == label].reshape(np.sum(y == label), -1).astype(float)
            self.sums[label] = self.sums.get(label, 0) + rows.sum(axis=0)
            self.counts[label] = self.counts.get(label, 0) + len(rows)

    def predict(self, X):
        means = np.stack([self.sums[label] / self.counts[label] for label in self.sums])
        distances = ((X.reshape(len(X), 1, -1) - means) ** 2).sum(axis=2)
        return np.array(list(self.sums))[distances.argmin(axis=1)]

    def memory(self):
        numbers = sum(total.size for total in self.sums.values())
        return MemoryUse(model_mb=4 * numbers / 2**20)


NEAREST = Method(
    name="nearest",
    module=__name__,
    learner="NearestMean",
    family="analytic",
    keeps="one mean per class",
    reference="Mensink et al., 2013",
)
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A package of somebody else's, installed, that brings a method."""

    def install(source=OUTSIDE, value="nearest_mean.method:NEAREST"):
        package = tmp_path / "nearest_mean"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "method.py").write_text(source)
        about = tmp_path / "nearest_mean-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: nearest-mean\nVersion: 1\n")
        (about / "entry_points.txt").write_text(f"[clsnet.methods]\nnearest = {value}\n")
        monkeypatch.syspath_prepend(tmp_path)

    yield install
    for name in [name for name in sys.modules if name.startswith("nearest_mean")]:
        del sys.modules[name]


def test_a_method_of_another_package_is_listed_unimported_and_passes_the_checks(outside):
    outside()
    method = get_method("nearest")
    assert method.module == "nearest_mean.method"
    assert not [name for name in sys.modules if name.startswith("nearest_mean")]
    check_method(method)


def test_a_method_that_is_described_by_more_than_literals_is_imported(outside):
    outside(OUTSIDE.replace('family="analytic"', 'family="ana" + "lytic".lower()'))
    assert get_method("nearest").family == "analytic"
    assert "nearest_mean.method" in sys.modules


def test_a_method_of_ours_cannot_be_replaced(outside):
    outside(OUTSIDE.replace("nearest", "ewc"))
    before = get_method("ewc")
    assert methods()["ewc"] == before


@pytest.mark.parametrize(
    ("source", "value", "reason"),
    [
        ("NEAREST = 1 / 0", "nearest_mean.method:NEAREST", "fails: division by zero"),
        ("NEAREST = 1", "nearest_mean.method:NEAREST", "is not a Method"),
        ("\nNEAREST = Method(name='a')", "nearest_mean.method:NEAREST", "'Method' is not defined"),
        (OUTSIDE, "nearest_mean.nowhere:NEAREST", "No module named 'nearest_mean.nowhere'"),
    ],
)
def test_a_broken_method_of_another_package_is_named_in_one_line(outside, source, value, reason):
    outside(source, value)
    with pytest.warns(UserWarning) as told:
        known = methods()
    [line] = [str(one.message) for one in told]
    assert line.startswith(f"clsnet.methods 'nearest' ({value}) ")
    assert line.endswith("; it is left out.")
    assert reason in line and "\n" not in line
    assert "nearest" not in known and "ewc" in known


def test_what_is_read_is_what_is_imported():
    for name, method in methods().items():
        if method.module.startswith("clsnet."):
            module = __import__(method.module, fromlist=["METHOD"])
            assert method == module.METHOD, name
    assert methods()["joint-finetuned"] == JOINT_FINETUNED
    assert methods()["clsnet-paper"].grid["ridge"][0] == 2.0**-30


def test_listing_methods_imports_none_of_them():
    code = "import sys; from clsnet.methods import methods; methods(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith(("clsnet", "torch", "numpy"))}
    assert loaded == {
        *("clsnet", "clsnet.methods", "clsnet.methods.learner", "clsnet.methods.registry"),
        *(
            "clsnet.methods.options",
            "clsnet.methods.declared_options",
            "clsnet.descriptions",
            "clsnet.errors",
            "clsnet.extras",
        ),
    }


def test_a_method_that_needs_torch_says_so_in_one_line():
    code = (
        "import sys; sys.modules['torch'] = None; from clsnet.methods import get_method\n"
        "for name in ('ewc', 'joint-finetuned'):\n"
        "    try: get_method(name).build(0)\n"
        "    except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"the method {name!r} needs torch: pip install 'clsnet[torch]'"
        for name in ("ewc", "joint-finetuned")
    ]


def test_a_learner_that_is_not_there_is_named():
    method = Method("a", __name__, "Nothing", "test", "nothing", "this file")
    with pytest.raises(ClsnetError, match=f"the method 'a': {__name__} has no Nothing"):
        method.build(0)


def test_the_nearest_name_is_suggested():
    with pytest.raises(ClsnetError, match="unknown method 'ewcc'; did you mean 'ewc'"):
        get_method("ewcc")


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        (
            "ewc",
            {"strenght": 1.0},
            "the method 'ewc' has no option 'strenght'; did you mean 'strength'? See: clsnet "
            "methods ewc",
        ),
        (
            "clsnet",
            {"rigde": 1.0},
            "the method 'clsnet' has no option 'rigde'; did you mean 'ridge'? See",
        ),
        ("slda", {"rigde": 1.0}, "the method 'slda' has no option 'rigde'"),
        ("slda", {"ridge": 1.0}, "the method 'slda' has no option 'ridge'"),
        ("ncm", {"retain": "classes"}, "the method 'ncm' has no option 'retain'"),
        ("ranpac", {"gamma": 2.0}, "the method 'ranpac' has no option 'gamma'"),
        ("ewc", {"seed": 1}, "the method 'ewc': seed=1: use --seed."),
        ("clsnet", {"random_state": 1}, "the method 'clsnet': random_state=1: use --seed."),
        ("ewc", {"strength": "abc"}, "the method 'ewc': strength='abc' is not a number"),
        ("ewc", {"epochs": 1.5}, "the method 'ewc': epochs=1.5 is not a whole number"),
        ("ewc", {"epochs": -1}, "the method 'ewc': epochs=-1: use a number of 0 or more"),
        ("ewc", {"strength": float("nan")}, "the method 'ewc': strength=nan: use a number of 0"),
        ("ewc", {"batch_size": 0}, "the method 'ewc': batch_size=0: use a number of 1 or more"),
        ("ewc", {"hidden": "abc"}, "the method 'ewc': hidden='abc' is not a list of whole numbers"),
        ("il2m", {"rescaling": 2}, "the method 'il2m': rescaling=2 is not True or False"),
        ("slda", {"shrinkage": "x"}, "the method 'slda': shrinkage='x' is not a number"),
        ("slda", {"views": 3}, "the method 'slda': The 'views' parameter of CLSNet must be"),
        ("clsnet", {"ridge": -3}, "the method 'clsnet': The 'ridge' parameter of CLSNet must be"),
        ("clsnet", {"terms": (5,)}, "the method 'clsnet': terms=(5,): use 1, with or without"),
        ("clsnet", {"device": "x"}, "the method 'clsnet': device 'x' is not available here"),
        (
            "clsnet",
            {"retain": "classes", "curvature": "diagonal"},
            'the method \'clsnet\': retain="classes" needs curvature="full"',
        ),
        ("joint-finetuned", {}, "the method 'joint-finetuned': joint-finetuned needs --backbone"),
        ("l2p", {}, "the method 'l2p': l2p needs --backbone hf:NAME, a vision transformer"),
    ],
)
def test_an_option_that_a_method_cannot_have_is_refused(name, options, reason):
    with pytest.raises(ClsnetError) as caught:
        check_options(get_method(name), options)
    assert str(caught.value).startswith(reason)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(methods()))
def test_every_option_that_is_known_can_be_given_its_default(name):
    method = get_method(name)
    known = known_options(method)
    assert set(method.grid) <= set(known)
    assert not {"seed", "preset", "backbone", "cache"} & set(known)
    for option, default in known.items():
        method.build(0, **{option: default})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ewc", {"strength": 3, "hidden": (8, 8), "epochs": 0}),
        ("none", {"hidden": ()}),
        ("ranpac", {"nodes": None}),
        ("clsnet", {"retain": "classes", "gamma": 1}),
        ("clsnet", {"queue": 3, "retain": "tasks"}),  # neither without the other
        ("clsnet", {"terms": [1, 2], "ridge": "auto", "views": 8}),
        ("joint-finetuned", {"backbone": "w.safetensors"}),
    ],
    ids=str,
)
def test_options_that_are_right_together_pass(name, options):
    check_options(get_method(name), options, "fast")
