"""Complementary prompts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clsnet.errors import ClsnetError
from clsnet.methods.common.network import Perceptron
from clsnet.methods.common.prompted import PromptedTransformer, Prompting
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class TaskPrompts(Perceptron):
    """A general prefix, one prefix with a key for each task, and a head.

    A prefix has the shape (layers, 2, length, width): keys, and values.

    Examples
    --------
    >>> net = TaskPrompts(8, hidden=(), general=(2, 5), task=(3, 4))
    >>> net.grow(2)
    >>> net.grow(4)
    >>> len(net.prefixes), tuple(net.prefixes[1].shape), len(net.keys)
    (2, (3, 2, 4, 8), 2)
    """

    def __init__(
        self, width: int, hidden: Sequence[int], general: tuple[int, int], task: tuple[int, int]
    ) -> None:
        super().__init__(width, hidden)
        self.general = nn.Parameter(_uniform(general[0], 2, general[1], width))
        self.task, self.width = task, width
        self.prefixes = nn.ParameterList()
        self.keys = nn.ParameterList()

    def grow(self, n_outputs: int) -> None:
        """Add outputs, and the prefix of a task, which starts as a copy of the one before."""
        super().grow(n_outputs)
        if n_outputs:
            layers, length = self.task
            new = _uniform(layers, 2, length, self.width)
            if len(self.prefixes):
                new = self.prefixes[-1].detach().clone()
            device = self.general.device
            self.prefixes.append(nn.Parameter(new.to(device)))
            self.keys.append(nn.Parameter(_uniform(self.width).to(device)))

    def likeness(self, query: Tensor) -> Tensor:
        """Return the cosine of each query with each key."""
        return query @ nn.functional.normalize(torch.stack(list(self.keys)), dim=1).T

    def by_layer(self, tasks: Tensor) -> dict[int, Tensor]:
        """Return the prefixes of images, given a task for each: general layers, then others."""
        chosen = torch.stack(list(self.prefixes))[tasks].unbind(dim=1)
        general = (each.expand(len(tasks), -1, -1, -1) for each in self.general)
        return dict(enumerate([*general, *chosen]))


class DualPrompt(Prompting):
    """Prompt a frozen vision transformer with a general prefix and one for the task.

    A prefix is further keys and values of an attention layer. The first layers have one that all
    tasks share, the next ones have one for each task. In training it is that of the current task.
    In prediction it is that of the task whose key is most similar, by the cosine, to the class
    token of the plain transformer. The class token goes into a linear head. Prefixes, key and
    head learn by a cross-entropy among the classes of the task, less the similarity of its key.
    The prefix of a task starts as a copy of the one before, as in the released code.

    In the released code all images of a batch get the prefix that most of them chose, when testing
    too, and there are as many prefixes from the start as there will be tasks. Here each image gets
    its own, and a task brings its prefix. Weights from ImageNet-21k have seen the classes of most
    photo data sets.

    Parameters
    ----------
    general_layers, task_layers
        How many layers have a general prefix, and how many after them one of the task.
    general_length, task_length
        Number of keys and values of a prefix.
    options
        As for `Prompting`, among them ``backbone="hf:NAME"``.

    References
    ----------
    Z. Wang et al., "DualPrompt: Complementary Prompting for Rehearsal-free Continual Learning",
    ECCV 2022.

    Examples
    --------
    >>> DualPrompt(backbone="resnet18.safetensors", device="cpu").check_parameters()
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: dualprompt needs --backbone hf:NAME, a vision transformer of \
Hugging Face.
    """

    purpose = "dualprompt"
    general_layers: int = option(2, least=0)
    task_layers: int = option(3, least=1)
    general_length: int = option(5, least=1)
    task_length: int = option(5, least=1)

    def check_transformer(self, vision: PromptedTransformer) -> None:
        """Refuse a transformer that has too few layers."""
        depth = len(vision.attentions)
        if self.general_layers + self.task_layers > depth:
            raise ClsnetError(
                f"general_layers={self.general_layers} and task_layers={self.task_layers}: "
                f"hf:{vision.backbone.model} has {depth} layers."
            )

    def new_network(self, n_outputs: int) -> TaskPrompts:
        """Return new prefixes with their head."""
        general = (self.general_layers, self.general_length)
        task = (self.task_layers, self.task_length)
        net = TaskPrompts(self.vision.width, self.hidden, general, task).to(self.device_)
        net.grow(n_outputs)
        return net

    def optimiser(self) -> torch.optim.Optimizer:
        """Return one that leaves prefixes and keys of old tasks alone."""
        for old in (*self.net.prefixes[:-1], *self.net.keys[:-1]):
            old.requires_grad_(False)
        return super().optimiser()

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy, less the similarity of the task's key."""
        tasks = torch.full_like(y, len(self.net.prefixes) - 1)
        scores = self.net(self.vision.with_prefixes(self.images[x], self.net.by_layer(tasks)))
        likeness: Tensor = self.net.likeness(self.queries[x])[:, -1]
        return self.entropy(scores, y) - likeness.mean()

    def answer(self, x: Tensor, query: Tensor) -> Tensor:
        """Return the scores of images, given their queries."""
        tasks = self.net.likeness(query).argmax(dim=1)
        scores: Tensor = self.net(self.vision.with_prefixes(x, self.net.by_layer(tasks)))
        return scores


def _uniform(*shape: int) -> Tensor:
    """Draw numbers from -1 to 1."""
    return 2 * torch.rand(*shape) - 1


METHOD = Method(
    name="dualprompt",
    module=__name__,
    learner="DualPrompt",
    family="cited",
    backbones=True,
    needs="hf:NAME",
    keeps="a general prefix, and a prefix and a key per task",
    reference="Wang et al., DualPrompt: Complementary Prompting for Rehearsal-free Continual "
    "Learning, ECCV 2022",
    without={"masked": False},
    grid={"learning_rate": [0.01, 0.03, 0.1]},
)
