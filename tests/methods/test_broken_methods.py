"""Methods on torch that are broken as real ones were: the checks find it out."""

from dataclasses import replace

import torch

from clsnet.checks import method_checks
from clsnet.memory import MemoryUse
from clsnet.methods import get_method
from clsnet.methods.gem import GEM
from clsnet.methods.ncm import NCM
from clsnet.methods.owm import OWM

SMALL_NETWORK = {"hidden": (100,), "batch_size": 20}


class InATensor(NCM):
    def partial_fit(self, X, y):
        self.buffer = torch.from_numpy(X[:3].copy())
        return super().partial_fit(X, y)


class InAGradient(NCM):
    def partial_fit(self, X, y):
        self.weight = torch.nn.Parameter(torch.ones(0))
        self.weight.data = torch.ones(64)
        self.weight.grad = torch.ones(64)
        return super().partial_fit(X, y)

    def memory(self):
        return MemoryUse(super().memory().model_mb + 4 * 64 / 2**20)


class StaleMemoryGEM(GEM):
    """As it once was: the exemplars of the task before stay beside those that are counted."""

    def end_task(self, X, y):
        memories = self.memories
        super().end_task(X, y)
        self.memories = memories


class UnprojectedOWM(OWM):
    """Updates its projectors, and forgets to use them."""

    def project_gradients(self):
        before = [(layer.weight.grad, layer.bias.grad) for layer in self.net.layers()]
        super().project_gradients()
        for layer, (weight, bias) in zip(self.net.layers(), before, strict=True):
            layer.weight.grad, layer.bias.grad = weight, bias


def failures(name, learner, **options):
    broken = replace(get_method(name), module=__name__, learner=learner)
    failed = {}
    for check in method_checks(broken, **options):
        try:
            check()
        except AssertionError as error:
            failed[check.name] = str(error)
    return failed


def test_tensors_and_gradients_are_counted():
    for learner, path in (("InATensor", ".buffer 3x8x8"), ("InAGradient", ".weight.grad 64")):
        failed = failures("ncm", learner)
        assert list(failed) == ["memory_counts_every_array"]
        assert path in failed.popitem()[1]


def test_owm_without_its_projector_fails():
    failed = failures("owm", "UnprojectedOWM", **SMALL_NETWORK)
    assert list(failed) == ["the_mechanism_matters"]
    assert "with {'projecting': False}: what should protect old tasks" in failed.popitem()[1]


def test_gem_that_keeps_stale_memories_fails():
    failed = failures("gem", "StaleMemoryGEM", **SMALL_NETWORK, budget=200, epochs=3)
    assert list(failed) == ["memory_counts_every_array"]
    assert ".memories[0][0] 200x64" in failed.popitem()[1]
