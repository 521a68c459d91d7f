import inspect

import pytest
from sklearn.base import clone

from clsnet.errors import ClsnetError
from clsnet.methods import check_options, get_method, methods
from clsnet.methods.declared_options import DeclaredOptions, option
from clsnet.methods.ewc import EWC
from clsnet.methods.gem import GEM
from clsnet.methods.none import FineTuning

OTHERS = [name for name, method in methods().items() if method.family != "ours"]


@pytest.mark.parametrize("name", methods())
def test_every_method_can_be_cloned(name):
    learner = get_method(name).build(3)
    copy = clone(learner)
    assert type(copy) is type(learner)
    assert copy is not learner
    assert str(copy.get_params()) == str(learner.get_params())


@pytest.mark.parametrize("name", OTHERS)
def test_no_method_has_a_constructor_of_its_own(name):
    assert get_method(name).load().__init__ is DeclaredOptions.__init__


def test_a_clone_of_a_learner_has_its_options_and_nothing_that_it_learned(vectors):
    model = EWC(strength=7.0, hidden=(8,), epochs=1, device="cpu")
    model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    copy = clone(model)
    assert (copy.strength, copy.hidden, copy.seed) == (7.0, (8,), 0)
    assert copy.task == 0
    assert not hasattr(copy, "net")


def test_a_default_is_that_of_the_nearest_class():
    assert (FineTuning().epochs, GEM().epochs, GEM(epochs=3).epochs) == (10, 1, 3)
    assert EWC().strength == 1e3


def test_another_default_keeps_the_range():
    with pytest.raises(ClsnetError, match="epochs=-1: use a number of 0 or more"):
        GEM(epochs=-1).check_parameters()


def test_options_are_shown_with_their_defaults():
    shown = inspect.signature(GEM).parameters
    assert shown["epochs"].default == 1
    assert shown["margin"].default == 0.5
    assert shown["budget"].default == 2000


def test_an_option_that_is_not_there_is_no_option():
    with pytest.raises(TypeError, match="EWC got an unexpected keyword argument 'strenght'"):
        EWC(strenght=1.0)


class Ranges(DeclaredOptions):
    share: float = option(0.5, least=0, most=1)
    rate: float = option(0.1, above=0)
    widths: tuple[int, ...] = option((8,), least=1)
    rank: int | None = option(None, least=1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"share": 1.1}, "share=1.1: use a number from 0 to 1."),
        ({"share": float("nan")}, "share=nan: use a number from 0 to 1."),
        ({"rate": 0}, "rate=0: use a number above 0."),
        ({"rate": "fast"}, "rate='fast' is not a number."),
        ({"widths": (8, 0)}, "widths=(8, 0): use numbers of 1 or more."),
        ({"rank": 0}, "rank=0: use a number of 1 or more."),
    ],
)
def test_a_value_out_of_range_is_one_line(options, reason):
    with pytest.raises(ClsnetError) as caught:
        Ranges(**options).check_parameters()
    assert str(caught.value) == reason


def test_values_in_range_pass():
    Ranges(share=1, rate=1e-9, widths=(), rank=None).check_parameters()
    Ranges(share=0, rank=3).check_parameters()


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("rm", {"mix": 1.5}, "mix=1.5: use a number from 0 to 1"),
        ("gem", {"budget": -1}, "budget=-1: use a number of 0 or more"),
        ("owm", {"momentum": 2.0}, "momentum=2.0: use a number from 0 to 1"),
        ("intercontinet", {"max_radius": 0.0}, "max_radius=0.0: use a number above 0"),
        ("dmc", {"n_auxiliary": 0}, "n_auxiliary=0: use a number of 1 or more"),
        ("si", {"damping": 0.0}, "damping=0.0: use a number above 0"),
        ("none", {"hidden": (0,)}, "hidden=(0,): use numbers of 1 or more"),
        ("ewc", {"backbone": 5}, "The 'backbone' parameter of CLSNet must be"),
        ("ewc", {"device": "x"}, "device 'x' is not available here"),
    ],
)
def test_methods_refuse_what_is_out_of_their_ranges(name, options, reason):
    with pytest.raises(ClsnetError) as caught:
        check_options(get_method(name), options)
    assert str(caught.value).startswith(f"the method {name!r}: {reason}")


def test_a_learner_that_is_used_directly_checks_before_it_learns(vectors):
    model = EWC(learning_rate=-1.0, device="cpu")
    with pytest.raises(ClsnetError, match=r"learning_rate=-1\.0: use a number of 0 or more"):
        model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert not hasattr(model, "net")
