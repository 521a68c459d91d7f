import itertools
import math

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods.common.attention import AttentionBlock, patches
from clsnet.methods.dytox import METHOD, DyTox, TokenNetwork

SMALL = {
    **{"hidden": (12,), "width": 8, "heads": 2, "patch": 4, "budget": 40},
    **{"epochs": 1, "tuning_epochs": 1, "batch_size": 60, "learning_rate": 0.01, "device": "cpu"},
}


def learned(tasks, n_tasks=3, **options):
    model = DyTox(**{**SMALL, **options})
    tokens = []
    for task in tasks[:n_tasks]:
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
        tokens.append([token.detach().clone() for token in model.net.tokens])
    return model, tokens


def test_there_are_as_many_tokens_as_tasks_and_old_ones_never_change(tasks):
    model, tokens = learned(tasks)
    assert [len(each) for each in tokens] == [1, 2, 3]
    for before, after in itertools.pairwise(tokens):
        for old, now in zip(before, after, strict=False):
            assert torch.equal(old, now)
    assert [head[1].out_features for head in model.net.heads] == [2, 2, 2]
    assert not torch.equal(tokens[-1][0], tokens[-1][1])


def test_old_heads_are_frozen_while_a_task_is_learned_and_the_encoder_while_all_are_tuned(tasks):
    model, _ = learned(tasks, n_tasks=1)
    X, y = tasks[1].X_train / np.float32(16), tasks[1].y_train
    head, encoder = model.net.heads[0][1].weight.clone(), model.net.embedding.weight.clone()
    model.tuning_epochs = 0
    model.partial_fit(X, y)
    assert torch.equal(model.net.heads[0][1].weight, head)
    assert not torch.equal(model.net.embedding.weight, encoder)
    encoder = [weight.clone() for weight in model.net.encoder()]
    model.epochs, model.tuning_epochs = 0, 1
    model.partial_fit(tasks[2].X_train / np.float32(16), tasks[2].y_train)
    for before, after in zip(encoder, model.net.encoder(), strict=True):
        assert torch.equal(before, after)
    assert not torch.equal(model.net.heads[0][1].weight, head)


def test_a_task_without_a_new_class_has_no_token(tasks):
    model, _ = learned([tasks[0], tasks[1], tasks[0]])
    assert len(model.net.tokens) == 2


def attended(block, asking, tokens):
    """The attention of one sample, head by head and token by token."""
    width, heads = block.norm.weight.numel(), block.attention.num_heads
    part = width // heads
    weights = block.attention.in_proj_weight.split(width)
    biases = block.attention.in_proj_bias.split(width)
    asked, seen = block.norm(asking), block.norm(tokens)
    queries, keys, values = (
        x @ weight.T + bias
        for x, weight, bias in zip((asked, seen, seen), weights, biases, strict=True)
    )
    found = torch.zeros_like(asking)
    for head in range(heads):
        columns = slice(head * part, (head + 1) * part)
        for i, query in enumerate(queries[:, columns]):
            powers = [math.exp(float(query @ key) / math.sqrt(part)) for key in keys[:, columns]]
            for power, value in zip(powers, values[:, columns], strict=True):
                found[i, columns] += power / sum(powers) * value
    asking = asking + block.attention.out_proj(found)
    return asking + block.layers(asking)


@torch.no_grad()
def test_attention_is_what_it_is_written_out():
    torch.manual_seed(0)
    block = AttentionBlock(width=6, heads=3, hidden=5)
    torch.nn.init.normal_(block.attention.in_proj_bias)
    tokens = torch.randn(4, 7, 6)
    found = block(tokens[:, :2], tokens)
    for sample, row in zip(tokens, found, strict=True):
        torch.testing.assert_close(row, attended(block, sample[:2], sample), atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_each_token_asks_the_image_alone():
    torch.manual_seed(0)
    net = TokenNetwork((1, 8, 8), side=4, width=6, heads=2, hidden=(5, 7))
    net.grow(2)
    first = net(torch.ones(3, 64))
    net.grow(3)
    image = torch.rand(1, 64)
    square = image.view(8, 8)
    cut = [square[i : i + 4, j : j + 4].flatten() for i in (0, 4) for j in (0, 4)]
    seen = net.embedding(torch.stack(cut)) + net.places[0]
    for block in net.blocks:
        seen = attended(block, seen, seen)
    scores = []
    for token, head in zip(net.tokens, net.heads, strict=True):
        answer = attended(net.task_block, token[0], torch.cat([token[0], seen]))
        scores.append(head(answer)[0])
    torch.testing.assert_close(net(image)[0], torch.cat(scores), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(net(torch.ones(3, 64))[:, :2], first)


def test_the_loss_is_entropy_distillation_and_divergence(tasks):
    model, _ = learned(tasks, n_tasks=2)
    model.net.requires_grad_(False)
    model.old_net = TokenNetwork(model.image, 4, 8, 2, (12,))
    model.old_net.grow(2)
    model.old_net.requires_grad_(False)
    model.divergence = torch.nn.Linear(8, 3).requires_grad_(False)
    x = model.as_input(tasks[1].X_train[:6] / np.float32(16))
    y = torch.tensor([0, 1, 2, 3, 3, 0])
    now, old, other = model.net(x), model.old_net(x), model.divergence(model.net.embed(x)[-1])
    entropy = distilled = apart = 0.0
    for row, code in enumerate(y.tolist()):
        chances = 1 / (1 + (-now[row]).exp())
        for i, chance in enumerate(chances.tolist()):
            entropy -= math.log(chance if i == code else 1 - chance) / (6 * 4)
        before, after = old[row].softmax(0).tolist(), now[row, :2].softmax(0).tolist()
        distilled += sum(p * math.log(p / q) for p, q in zip(before, after, strict=True)) / (6 * 2)
        apart -= math.log(other[row].softmax(0)[[0, 0, 1, 2][code]]) / 6
    expected = entropy / 2 + distilled / 2 + 0.1 * apart  # two of the four classes are old
    assert float(model.loss(x, y)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("shape", [(3, 5, 7), (1, 6, 6), (2, 4, 9)])
def test_patches_hold_every_pixel_once(shape):
    images = torch.arange(1.0, 2 * math.prod(shape) + 1).view(2, *shape)
    found = patches(images, side=3)
    for image, rows in zip(images, found, strict=True):
        values = [value for value in rows.flatten().tolist() if value]
        assert sorted(values) == image.flatten().tolist()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"width": 10, "heads": 4}, "width=10 is not a multiple of heads=4."),
        ({"patch": 0}, "patch=0: use a number of 1 or more."),
        ({"tuning_epochs": -1}, "tuning_epochs=-1: use a number of 0 or more."),
    ],
)
def test_bad_options_are_one_line(options, reason):
    with pytest.raises(ClsnetError, match="^" + reason.replace(".", r"\.") + "$"):
        METHOD.build(0, device="cpu", **options).check_parameters()


def test_vectors_and_colour_images_are_learned(vectors, tasks):
    model, _ = learned(vectors, n_tasks=2)
    assert model.image == (1, 1, 64) and model.net.places.shape[1] == 4
    assert model.predict(vectors[0].X_test).shape == vectors[0].y_test.shape
    colour = np.stack([tasks[0].X_train] * 3, axis=1) / np.float32(16)
    model = DyTox(**SMALL).partial_fit(colour, tasks[0].y_train)
    assert model.net.embedding.in_features == 3 * 16


def test_memory_is_exactly_counted(tasks):
    model, _ = learned(tasks, n_tasks=2)
    block = 2 * 8 + 4 * 8 * 8 + 4 * 8 + 2 * 8
    encoder = (16 * 8 + 8) + 4 * 8 + block + 8 * 12 + 12 + 12 * 8 + 8
    decoder = block + 8 * 32 + 32 + 32 * 8 + 8
    per_task = 8 + 2 * 8 + 8 * 2 + 2
    numbers = encoder + decoder + 2 * per_task
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 4 * 40 * 64 / 2**20
    assert model.divergence is None
