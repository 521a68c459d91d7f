from types import SimpleNamespace

import pytest

from clsnet import CLSNet
from clsnet.estimator.features import FEATURES, new_extractor
from clsnet.methods import methods
from clsnet.methods.slda import SLDA


def test_options_are_those_that_the_extractor_reads():
    read = set()

    class Noting(SimpleNamespace):
        def __getattribute__(self, name):
            read.add(name)
            return super().__getattribute__(name)

    new_extractor(Noting(**CLSNet().get_params()), (4,))
    assert read == {*FEATURES, "preset", "random_state"}


@pytest.mark.parametrize("name", sorted({*CLSNet().get_params()} - {*FEATURES, "preset", "device"}))
def test_options_of_our_own_classifier_are_refused(name):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        SLDA(**{name: CLSNet().get_params()[name]})


def test_every_closed_form_takes_the_options_of_the_extractor():
    options = {name: CLSNet().get_params()[name] for name in FEATURES}
    for method in methods().values():
        if method.family == "analytic":
            method.build(0, "fast", device="cpu", **options)


def test_a_refused_option_ends_a_benchmark_before_it_runs(run_warm, tmp_path):
    words = ("bench", "Digits-10/5", "--method", "slda", "--option", "gamma=2", "--out", tmp_path)
    done = run_warm(*words)
    assert done.status == 2
    assert "the method 'slda' has no option 'gamma'" in done.err
    assert list(tmp_path.iterdir()) == []
