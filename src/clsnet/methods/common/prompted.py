"""Frozen vision transformers with prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.errors import ClsnetError
from clsnet.extractor import Augmentation, Extractor
from clsnet.extractor.backbones import resolve_backbone
from clsnet.extractor.backbones.huggingface import OLDEST, HuggingFace
from clsnet.extras import needed
from clsnet.images import Samples
from clsnet.methods.common.trainer import Trainer
from clsnet.methods.declared_options import option

FOR = 256  # samples in a batch, to which the learning rate refers
LONGEST = 1.0  # gradient
ROWS = 128
PREFIXED = "clsnet_prefixed"  # the name of an attention, in transformers


class PromptedTransformer:
    """A frozen vision transformer that returns its class token, with or without prompts.

    Parameters
    ----------
    backbone
        The network.
    device
        Where it runs.
    """

    def __init__(self, backbone: HuggingFace, device: torch.device) -> None:
        self.backbone = backbone
        self.network = backbone.network.to(device)
        self.attentions = [part for part in self.network.modules() if _is_attention(part)]
        if not (self.attentions and hasattr(self.network, "embeddings")):
            raise ClsnetError(
                f"hf:{backbone.model} is not a vision transformer; use one, such as a ViT or a "
                "DeiT."
            )
        self.width = int(self.network.config.hidden_size)

    def plain(self, x: Tensor) -> Tensor:
        """Return the class token of images without a prompt."""
        return self._tokens(x)[:, 0]

    def with_tokens(self, x: Tensor, prompts: Tensor) -> Tensor:
        """Put prompts (n, tokens, width) behind the class token; return what becomes of them."""

        def insert(module: Any, inputs: Any, tokens: Tensor) -> Tensor:
            return torch.cat([tokens[:, :1], prompts, tokens[:, 1:]], dim=1)

        handle = self.network.embeddings.register_forward_hook(insert)
        try:
            return self._tokens(x)[:, 1 : 1 + prompts.shape[1]]
        finally:
            handle.remove()

    def with_prefixes(self, x: Tensor, prefixes: Mapping[int, Tensor]) -> Tensor:
        """Put keys and values before those of some layers; return the class token.

        Parameters
        ----------
        x
            Images.
        prefixes
            By layer, of shape (n, 2, length, width): keys, and values.
        """
        with self._prefixed(prefixes):
            return self._tokens(x)[:, 0]

    def _tokens(self, x: Tensor) -> Tensor:
        answer = self.network(pixel_values=self.backbone.normalised(x), return_dict=True)
        tokens: Tensor = answer.last_hidden_state
        return tokens

    @contextmanager
    def _prefixed(self, prefixes: Mapping[int, Tensor]) -> Iterator[None]:
        transformers = needed("transformers", "a prompt", "hub", OLDEST)
        transformers.AttentionInterface.register(PREFIXED, prefixed_attention)
        config = self.network.config
        before, config._attn_implementation = config._attn_implementation, PREFIXED
        for layer, prefix in prefixes.items():
            self.attentions[layer].prefix = prefix
        try:
            yield
        finally:
            config._attn_implementation = before
            for layer in prefixes:
                del self.attentions[layer].prefix


def prefixed_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, *others: Any, **options: Any
) -> tuple[Tensor, None]:
    """Attend to keys and values, and to those of the module's prefix if it has one.

    Queries, keys and values are of shape (n, heads, tokens, width of a head).
    """
    prefix = getattr(module, "prefix", None)
    if prefix is not None:
        n, heads, _, width = key.shape
        first = prefix.view(n, 2, -1, heads, width).transpose(2, 3)
        key, value = torch.cat([first[:, 0], key], dim=2), torch.cat([first[:, 1], value], dim=2)
    found = nn.functional.scaled_dot_product_attention(
        query, key, value, scale=options.get("scaling")
    )
    return found.transpose(1, 2).contiguous(), None


class Prompting(Trainer):
    """A trainer of prompts for a frozen vision transformer, and of a linear head.

    What the network sees is numbers of images. Queries, the class tokens of the plain network, are
    computed once per task.

    Parameters
    ----------
    hidden
        Widths of hidden layers before the head; none in the papers.
    learning_rate
        Of Adam, for batches of 256; smaller ones have a smaller rate. Gradients are clipped.
    masked
        Whether the loss on a task leaves out the outputs of classes that the task does not have.
        Otherwise new classes push old ones away.
    backbone
        ``"hf:NAME"``.
    options
        As for `Trainer`, except `cache`, which is not used.
    """

    purpose: ClassVar[str]
    hidden = ()
    epochs = 5
    batch_size = 128
    learning_rate = 0.03
    masked: bool = option(True)

    def check_parameters(self) -> None:
        """Raise an error if an option cannot be what it is, or no transformer is given."""
        if not str(self.backbone).startswith("hf:"):
            raise ClsnetError(
                f"{self.purpose} needs --backbone hf:NAME, a vision transformer of Hugging Face."
            )
        super().check_parameters()

    @property
    def vision(self) -> PromptedTransformer:
        """The frozen transformer."""
        backbone: Any = self.extractor_.backbone
        return PromptedTransformer(backbone, self.device_)

    def as_input(self, X: Samples) -> Tensor:
        """Return images as they are, on the device."""
        if not hasattr(self, "extractor_"):
            backbone = resolve_backbone(self.backbone, X.shape[1:], taps="last", views=1)
            self.extractor_ = Extractor(backbone, Augmentation("Z"), self.seed)
            self.check_transformer(self.vision)
        images = self.extractor_.backbone.as_input(np.asarray(X))
        return torch.from_numpy(images).to(self.device_)

    def check_transformer(self, vision: PromptedTransformer) -> None:
        """Raise an error if the transformer cannot take the prompts."""

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Learn prompts and head from the images and their queries."""
        self.images, self.queries = X, self.query(X)
        self.absent = torch.ones(len(self.labels), dtype=torch.bool, device=self.device_)
        self.absent[y] = False
        try:
            self.train(torch.arange(len(y), device=self.device_), y)
        finally:
            del self.images, self.queries, self.absent

    @torch.no_grad()
    def query(self, x: Tensor) -> Tensor:
        """Return the class tokens of the plain network, of unit length."""
        tokens = torch.cat([self.vision.plain(part) for part in torch.split(x, ROWS)])
        return nn.functional.normalize(tokens, dim=1)

    def optimiser(self) -> torch.optim.Optimizer:
        """Return Adam, at a rate for this size of a batch."""
        rate = self.learning_rate * self.batch_size / FOR
        return torch.optim.Adam(self.net.parameters(), lr=rate)

    def before_step(self) -> None:
        """Clip the gradients."""
        nn.utils.clip_grad_norm_(self.net.parameters(), LONGEST)

    def entropy(self, scores: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy among the classes of the task, or among all."""
        if self.masked:
            scores = scores.masked_fill(self.absent, -torch.inf)
        return nn.functional.cross_entropy(scores, y)

    @torch.no_grad()
    def scores(self, x: Tensor) -> Tensor:
        """Return the scores by which classes are chosen; each image has prompts of its own."""
        self.net.eval()
        return torch.cat([self.answer(part, self.query(part)) for part in torch.split(x, ROWS)])

    def kept(self) -> dict[str, Tensor]:
        """Return what normalises images."""
        backbone: Any = self.extractor_.backbone
        return {name: torch.from_numpy(getattr(backbone, name)) for name in ("mean", "deviation")}

    def answer(self, x: Tensor, query: Tensor) -> Tensor:
        """Return the scores of images, given their queries."""
        raise NotImplementedError


def _is_attention(module: nn.Module) -> bool:
    return any(hasattr(module, name) for name in ("q_proj", "query"))
