import json

import pytest


@pytest.fixture(scope="session")
def tiny_vit(tmp_path_factory) -> str:
    """A vision transformer with random weights, for images of 8x8 pixels."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("vit")
    config = transformers.ViTConfig(
        **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2},
        **{"intermediate_size": 64, "image_size": 8, "patch_size": 4, "initializer_range": 0.15},
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.ViTModel(config).save_pretrained(folder)
    processor = {
        **{"image_processor_type": "ViTImageProcessor", "size": {"height": 8, "width": 8}},
        **{"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]},
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return f"hf:{folder}"


@pytest.fixture
def learned_prompts(tasks, tiny_vit):
    """Makes a learner of prompts that has learned some tasks."""

    def learn(kind, n_tasks=1, **options):
        model = kind(backbone=tiny_vit, **{"epochs": 1, **options})
        for task in tasks[:n_tasks]:
            model.partial_fit(task.X_train * 15, task.y_train)
        return model

    return learn
