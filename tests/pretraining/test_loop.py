import copy
import subprocess
import sys

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods.common.residual import Residual
from clsnet.pretraining import loop
from clsnet.pretraining.checkpoint import Checkpoint
from clsnet.pretraining.feeding import Feed
from clsnet.pretraining.loop import batch_size, rate, side, train
from clsnet.pretraining.simsiam import SimSiam
from clsnet.pretraining.supervised import Supervised

CPU = torch.device("cpu")
HALF = (0.5, 0.5, 0.5)


class Stopped(Exception):
    pass


@pytest.fixture
def feeds(shapes):
    data = shapes(150)
    return [Feed(X, y, 8, CPU, 1 << 30) for X, y in ((data.X, data.y), (data.X_test, data.y_test))]


@pytest.fixture
def objective(tiny):
    return Supervised(tiny(16), HALF, HALF).to(memory_format=torch.channels_last)


def assert_same(one, other):
    a, b = one.state_dict(), other.state_dict()
    assert a.keys() == b.keys()
    for name in a:
        assert torch.equal(a[name], b[name]), name


def stop_in(epoch):
    def show(status):
        if status.epoch == epoch and not status.measured:
            raise Stopped

    return show


# ------------------------------------------------------------------------------ resuming


@pytest.mark.parametrize(("kind", "stopped"), [(Supervised, 2), (Supervised, 3), (SimSiam, 2)])
def test_a_stopped_run_that_goes_on_ends_as_one_that_was_not(tiny, feeds, tmp_path, kind, stopped):
    """The third epoch is stopped too early for the second to have left a checkpoint."""
    whole = kind(tiny(16), HALF, HALF).to(memory_format=torch.channels_last)
    first, second = copy.deepcopy(whole), copy.deepcopy(whole)
    accuracy = train(whole, *feeds, epochs=3, seed=3)
    checkpoint = Checkpoint(tmp_path / "c", {})
    with pytest.raises(Stopped):
        train(first, *feeds, 3, 3, checkpoint, stop_in(stopped))
    seen = []
    assert train(second, *feeds, 3, 3, checkpoint, seen.append) == accuracy
    assert seen[0].epoch == 2
    assert_same(whole, second)


def test_a_checkpoint_is_written_when_the_last_is_old(objective, feeds, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0)
    checkpoint = Checkpoint(tmp_path / "c", {})
    with pytest.raises(Stopped):
        train(objective, *feeds, 5, 0, checkpoint, stop_in(4))
    seen = []
    train(objective, *feeds, 5, 0, checkpoint, seen.append)
    assert seen[0].epoch == 4


def test_images_read_ahead_train_the_same_weights(objective, shapes, feeds):
    data = shapes(150)
    streamed = Feed(data.X, data.y, 8, CPU, 0)
    other = copy.deepcopy(objective)
    assert train(objective, *feeds, 2, 0) == train(other, streamed, feeds[1], 2, 0)
    assert_same(objective, other)


def test_the_seed_decides(objective, feeds):
    before, again, other = (copy.deepcopy(objective) for _ in range(3))
    for one, seed in ((objective, 0), (again, 0), (other, 1)):
        train(one, *feeds, 1, seed)
    assert_same(objective, again)
    weight = objective.network.conv.weight
    assert not torch.equal(weight, other.network.conv.weight)
    assert not torch.equal(weight, before.network.conv.weight)


# ------------------------------------------------------------------------------ what is shown


def test_the_status_tells_how_far_training_is(feeds, tiny):
    seen = []
    accuracy = train(Supervised(tiny(16), HALF, HALF), *feeds, epochs=20, seed=0, show=seen.append)
    steps = 150 // 32
    assert len(seen) == 20 * (steps + 1)
    done = [status.done for status in seen]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1)
    assert seen[0].loss is None
    assert [status.epoch for status in seen if status.measured] == list(range(2, 21, 2))
    last = seen[-1]
    assert last.accuracy == accuracy
    assert last.speed > 0
    assert last.loss < seen[steps].loss


def test_a_long_first_epoch_tells_its_means_so_far(feeds, tiny, monkeypatch):
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_FIGURES", -1)
    seen = []
    train(Supervised(tiny(16), HALF, HALF), *feeds, epochs=2, seed=0, show=seen.append)
    *during, whole = (status.loss for status in seen[: 150 // 32 + 1])
    assert len(set(during)) == len(during)
    assert during[-1] == whole
    assert seen[len(during) + 1].loss == whole


def test_no_held_out_images_no_accuracy(feeds, tiny):
    none = Feed(np.zeros((0, 3, 8, 8), np.uint8), np.zeros(0), 8, CPU, 1 << 30)
    assert train(Supervised(tiny(16), HALF, HALF), feeds[0], none, 1, 0) is None


def test_a_loss_that_is_not_finite_ends_training(feeds, tiny, tmp_path):
    objective = Supervised(tiny(16), HALF, HALF)
    with torch.no_grad():
        objective.network.fc.bias.fill_(torch.nan)
    with pytest.raises(ClsnetError, match="loss of epoch 1 is nan"):
        train(objective, *feeds, 2, 0, Checkpoint(tmp_path / "c", {}))
    assert not (tmp_path / "c").exists()


# ------------------------------------------------------------------------------ the schedule


def test_the_rate_rises_then_falls_without_jumps():
    rates = [rate(progress) for progress in np.linspace(0, 1, 1001)]
    assert rates[0] == 0
    assert max(rates) == pytest.approx(1)
    assert np.argmax(rates) == 100
    assert rates[-1] == pytest.approx(0)
    assert np.abs(np.diff(rates)).max() < 0.011


@pytest.mark.parametrize("size", [8, 16, 20, 28, 32, 64, 224])
def test_views_grow_to_full_size(size):
    sides = [side(progress, size) for progress in np.linspace(0, 0.999, 100)]
    assert sides == sorted(sides)
    assert sides[0] >= size / 2
    assert set(sides[88:]) == {size}
    assert all(one % 8 == 0 or one == size for one in sides)


def test_batches_are_as_large_as_steps_allow():
    for n in (2, 31, 32, 100, 5_000, 50_000, 10**6):
        size = batch_size(n, 64)
        assert 1 <= size <= min(n, 512)
        assert size in (n, 32) or n // size >= 64


def test_norms_and_biases_do_not_decay(tiny):
    objective = SimSiam(tiny(4), HALF, HALF)
    optimiser = loop._optimiser(objective, 256)
    decayed, free = optimiser.plain
    assert optimiser.orthogonal.weights == []
    assert (decayed.decay, free.decay) == (5e-4, 0)
    assert all(p.ndim > 1 for p in decayed.weights)
    assert all(p.ndim == 1 for p in free.weights)
    known = {id(p) for p in decayed.weights + free.weights}
    assert known == {id(p) for p in objective.parameters() if p.requires_grad}


def test_convolutions_behind_the_first_turn_and_nothing_else_does():
    objective = Supervised(Residual(18, small=True, n_classes=4), HALF, HALF)
    optimiser = loop._optimiser(objective, 128)
    groups = [*optimiser.plain, optimiser.orthogonal]
    assert [group.rate for group in groups] == [0.1, 0.1, 0.03]
    turned = [name for name, p in objective.named_parameters() if p.ndim == 4][1:]
    names = {id(p): name for name, p in objective.named_parameters()}
    assert [names[id(p)] for p in groups[-1].weights] == turned
    assert sum(len(group.weights) for group in groups) == len(names)


def test_pretraining_does_not_wait_for_a_compiler_to_be_imported():
    code = """if True:
        import sys
        import numpy as np
        from clsnet.pretraining import Base, pretrain
        X, y = np.zeros((8, 8, 8), np.uint8), np.arange(8) % 2
        pretrain(Base("Black", X, y, X, y, ("a", "b")), epochs=1, device="cpu")
        sys.exit("torch._dynamo" in sys.modules)
    """
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
