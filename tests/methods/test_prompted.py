import json

import numpy as np
import pytest
import torch

from clsnet.checks import method_checks
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import resolve_backbone
from clsnet.methods import get_method
from clsnet.methods.common.prompted import PromptedTransformer
from clsnet.methods.dualprompt import DualPrompt
from clsnet.methods.l2p import L2P
from tests.methods import test_dualprompt, test_l2p

KINDS = [L2P, DualPrompt]
SMALL = {"l2p": test_l2p.SMALL, "dualprompt": test_dualprompt.SMALL}
LONG = {"epochs": 15, "learning_rate": 0.2}


def checks_of(name, **options):
    return {f"{name}-{check.name}": check for check in method_checks(get_method(name), **options)}


@pytest.fixture(scope="module")
def checks(tiny_vit):
    every = {}
    for name, small in SMALL.items():
        every |= checks_of(name, backbone=tiny_vit, **small, **LONG)
    return every


@pytest.mark.parametrize("check", [check for name in SMALL for check in checks_of(name)])
def test_it_keeps_the_promises_of_all_methods(checks, check):
    checks[check]()


@pytest.fixture(scope="module")
def vision(tiny_vit):
    backbone = resolve_backbone(tiny_vit, (8, 8), taps="last", views=1)
    return PromptedTransformer(backbone, torch.device("cpu"))


@pytest.fixture
def images():
    return torch.from_numpy(np.random.RandomState(0).randint(0, 256, (3, 8, 8)).astype(np.uint8))


def layers_of(network):
    return network.layers if hasattr(network, "layers") else network.encoder.layer


@torch.no_grad()
def test_prompts_go_behind_the_class_token(vision, images):
    network, prompts = vision.network, torch.randn(3, 5, 32)
    tokens = network.embeddings(vision.backbone.normalised(images))
    tokens = torch.cat([tokens[:, :1], prompts, tokens[:, 1:]], dim=1)
    for layer in layers_of(network):
        tokens = layer(tokens)
        tokens = tokens[0] if isinstance(tokens, tuple) else tokens
    found = vision.with_tokens(images, prompts)
    expected = network.layernorm(tokens)[:, 1:6]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_prefixes_are_further_keys_and_values_of_a_layer(vision, images):
    network, prefix = vision.network, torch.randn(3, 2, 4, 32)
    if not hasattr(vision.attentions[0], "q_proj"):
        pytest.skip("this version of transformers names its layers otherwise")
    tokens = network.embeddings(vision.backbone.normalised(images))
    for number, layer in enumerate(layers_of(network)):
        seen, part = layer.layernorm_before(tokens), layer.attention
        queries, keys, values = part.q_proj(seen), part.k_proj(seen), part.v_proj(seen)
        if number == 1:
            keys, values = (
                torch.cat([prefix[:, i], each], 1) for i, each in enumerate((keys, values))
            )
        found = torch.zeros_like(seen)
        for head in range(2):
            columns = slice(16 * head, 16 * (head + 1))
            likeness = queries[..., columns] @ keys[..., columns].transpose(1, 2) / 4
            found[..., columns] = likeness.softmax(dim=-1) @ values[..., columns]
        tokens = tokens + part.o_proj(found)
        tokens = tokens + layer.mlp(layer.layernorm_after(tokens))
    expected = network.layernorm(tokens)[:, 0]
    found = vision.with_prefixes(images, {1: prefix})
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(found, vision.plain(images), atol=1e-3)


@torch.no_grad()
def test_prompts_leave_no_trace_in_the_transformer(vision, images):
    before, kind = vision.plain(images), vision.network.config._attn_implementation
    vision.with_tokens(images, torch.randn(3, 5, 32))
    vision.with_prefixes(images, {0: torch.randn(3, 2, 4, 32)})
    torch.testing.assert_close(vision.plain(images), before, atol=0, rtol=0)
    assert vision.network.config._attn_implementation == kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backbone", [None, "w.safetensors", "timm:resnet18"])
def test_a_transformer_that_is_not_asked_for_is_one_line(kind, backbone):
    reason = "needs --backbone hf:NAME, a vision transformer of Hugging Face\\.$"
    with pytest.raises(ClsnetError, match=reason):
        kind(backbone=backbone, device="cpu").check_parameters()


@pytest.mark.parametrize("kind", KINDS)
def test_a_transformer_that_is_not_there_is_one_line(kind, tasks, tmp_path):
    pytest.importorskip("transformers")
    model = kind(backbone=f"hf:{tmp_path / 'none'}", device="cpu")
    with pytest.raises(ClsnetError, match=r"^cannot load hf:\S+: there is no such folder\.$"):
        model.partial_fit(tasks[0].X_train, tasks[0].y_train)


def test_a_network_without_attention_is_one_line(tasks, tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8], depths=[1, 1], layer_type="basic"
    )
    transformers.ResNetModel(config).save_pretrained(tmp_path)
    processor = {"image_processor_type": "ViTImageProcessor", "size": {"height": 8, "width": 8}}
    processor |= {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
    with pytest.raises(ClsnetError, match=r"^hf:\S+ is not a vision transformer; use one"):
        L2P(backbone=f"hf:{tmp_path}", device="cpu").partial_fit(tasks[0].X_train, tasks[0].y_train)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_refused(kind, vectors, tiny_vit):
    options = {"general_layers": 1, "task_layers": 1} if kind is DualPrompt else {}
    with pytest.raises(ClsnetError, match="the hf backbone needs images"):
        kind(backbone=tiny_vit, device="cpu", **options).partial_fit(
            vectors[0].X_train, vectors[0].y_train
        )
