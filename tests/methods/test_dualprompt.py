from functools import partial

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods.dualprompt import DualPrompt, TaskPrompts

SMALL = {
    **{"general_layers": 1, "task_layers": 1, "task_length": 2},
    **{"batch_size": 20, "device": "cpu"},
}


@pytest.fixture
def learned(learned_prompts):
    return partial(learned_prompts, DualPrompt, **SMALL)


def test_each_task_brings_a_prefix_and_a_key_and_leaves_old_ones_alone(learned, tasks):
    model = learned(n_tasks=2)
    old = [each.detach().clone() for each in (*model.net.prefixes, *model.net.keys)]
    general = model.net.general.detach().clone()
    model.partial_fit(tasks[2].X_train * 15, tasks[2].y_train)
    assert len(model.net.prefixes) == len(model.net.keys) == 3
    for before, after in zip(old, (*model.net.prefixes[:2], *model.net.keys[:2]), strict=True):
        assert torch.equal(before, after)
    assert not torch.equal(model.net.general, general)
    assert not torch.equal(model.net.prefixes[2], model.net.prefixes[1])


def test_a_prefix_starts_as_a_copy_of_the_one_before(learned):
    model = learned(n_tasks=2, epochs=0)
    assert torch.equal(*model.net.prefixes)
    assert not torch.equal(*model.net.keys)


def test_each_image_gets_the_prefix_of_the_most_similar_key(learned, tasks):
    model = learned(n_tasks=3, epochs=0)
    with torch.no_grad():
        for prefix in model.net.prefixes:
            prefix.normal_()
        x = model.as_input(tasks[0].X_test[:6] * 15)
        found = model.scores(x)
        for image, scores in zip(x, found, strict=True):
            query = model.vision.plain(image[None])[0]
            cosines = [float(query @ key / query.norm() / key.norm()) for key in model.net.keys]
            task = int(np.argmax(cosines))
            prefixes = {0: model.net.general, 1: model.net.prefixes[task]}
            token = model.vision.with_prefixes(image[None], prefixes)
            torch.testing.assert_close(scores, model.net.head(token)[0], atol=1e-5, rtol=1e-4)


def test_prefixes_are_in_the_order_of_layers():
    net = TaskPrompts(4, hidden=(), general=(2, 5), task=(3, 6))
    net.grow(2)
    net.grow(4)
    torch.nn.init.normal_(net.prefixes[1])
    found = net.by_layer(torch.tensor([1, 0]))
    assert list(found) == [0, 1, 2, 3, 4]
    for layer in range(2):
        for image in range(2):
            assert torch.equal(found[layer][image], net.general[layer])
    for layer in range(3):
        assert torch.equal(found[2 + layer][0], net.prefixes[1][layer])
        assert torch.equal(found[2 + layer][1], net.prefixes[0][layer])


def test_memory_is_exactly_counted(learned):
    model = learned(n_tasks=2)
    numbers = 2 * 5 * 32 + 2 * (2 * 2 * 32 + 32) + 32 * 4 + 4 + 6 + 2
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


def test_too_few_layers_are_one_line(learned):
    with pytest.raises(ClsnetError, match=r"^general_layers=2 and task_layers=3: hf:\S+ has 2 l"):
        learned(general_layers=2, task_layers=3)
