from functools import partial

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods import check_options
from clsnet.methods.l2p import L2P, METHOD, PromptPool

SMALL = {"pool": 5, "length": 2, "chosen": 2, "batch_size": 20, "device": "cpu"}


@pytest.fixture
def learned(learned_prompts):
    return partial(learned_prompts, L2P, **SMALL)


def test_prompts_with_the_most_similar_keys_are_chosen():
    torch.manual_seed(0)
    pool = PromptPool(width=6, hidden=(), size=7, length=3)
    queries = torch.nn.functional.normalize(torch.randn(4, 6), dim=1)
    prompts, likeness = pool.select(queries, number=2)
    for query, row, cosines in zip(queries, prompts, likeness, strict=True):
        all_cosines = [float(query @ key / key.norm()) for key in pool.keys.detach()]
        best = sorted(range(7), key=lambda i: -all_cosines[i])[:2]
        torch.testing.assert_close(row, torch.cat([pool.prompts[i] for i in best]))
        assert cosines.tolist() == pytest.approx([all_cosines[i] for i in best], abs=1e-6)


def test_the_loss_is_entropy_in_the_task_less_the_similarities(learned, tasks):
    model = learned(n_tasks=2)
    x = model.as_input(tasks[1].X_train[:4] * 15)
    model.images, model.queries = x, model.query(x)
    model.absent = torch.tensor([True, True, False, False])
    model.net.requires_grad_(False)
    y = torch.tensor([2, 3, 3, 2])
    expected = 0.0
    for i, code in enumerate(y.tolist()):
        prompts, cosines = model.net.select(model.queries[i : i + 1], 2)
        outputs = model.vision.with_tokens(x[i : i + 1], prompts)[0].mean(dim=0)
        scores = model.net.head(outputs)[2:].tolist()
        chance = np.exp(scores[code - 2]) / np.exp(scores).sum()
        expected += (-np.log(chance) - float(cosines.sum())) / 4
    assert float(model.loss(torch.arange(4), y)) == pytest.approx(expected, rel=1e-4)


def test_the_head_of_old_classes_stays_while_a_task_is_learned(learned, tasks):
    for masked in (True, False):
        model = learned(masked=masked)
        before = model.net.head.weight.detach().clone()
        model.partial_fit(tasks[1].X_train * 15, tasks[1].y_train)
        assert torch.equal(model.net.head.weight[:2], before) == masked


def test_nothing_of_a_task_is_kept_and_memory_is_exact(learned):
    model = learned(n_tasks=2)
    assert not {"images", "queries", "absent"} & vars(model).keys()
    numbers = 5 * 2 * 32 + 5 * 32 + 32 * 4 + 4 + 6 + 2  # pixels' scales, unused features' scales
    memory = model.memory()
    assert memory.model_mb == 4 * numbers / 2**20
    assert memory.exemplar_mb == 0
    frozen = sum(weight.numel() for weight in model.vision.network.parameters())
    assert memory.backbone_mb == pytest.approx(4 * frozen / 2**20)


def test_more_prompts_than_there_are_is_one_line(tiny_vit):
    with pytest.raises(ClsnetError, match=r"chosen=6: the pool has 5 prompts\.$"):
        check_options(METHOD, {**SMALL, "chosen": 6, "backbone": tiny_vit})
