"""Frozen pretrained networks, tapped at several depths."""

from __future__ import annotations

import abc
import copy
import functools
import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, interpolate

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.images.dead_leaves import dead_leaves
from clsnet.extractor.runtime.torch_module import Run, Runtime
from clsnet.extractor.backbones.views import VIEWS, views
from clsnet.extractor.backbones.weights import fingerprint

TAPS = ("several", "many", "last")
N_LEAVES = 64
SLACK = 0.01


class Tapped(nn.Module, abc.ABC):
    """A network that answers with its pooled outputs at several depths.

    The mean and the quadratic mean of every output over the image are taken, of those in
    `in_cells` the mean over 2x2 cells too, and of those in `places` the means of random nodes. Of
    the last layer alone it is the mean.

    Parameters
    ----------
    network
        The network.
    taps
        ``"several"`` depths, ``"many"``: the same at two scales, or the ``"last"`` layer before
        the head.
    """

    in_cells: tuple[int, ...] = ()

    def __init__(self, network: nn.Module, taps: str) -> None:
        super().__init__()
        if taps not in TAPS:
            raise ClsnetError(f"unknown taps {taps!r}: use 'several', 'many' or 'last'.")
        self.network = network
        self.taps = taps
        self.places = nn.ModuleDict()

    @abc.abstractmethod
    def maps(self, x: Tensor) -> list[Tensor]:
        """Return outputs (n, channels, h, w), or (n, channels), from shallow to deep."""

    @abc.abstractmethod
    def embed(self, x: Tensor) -> Tensor:
        """Return the pooled output of the last layer before the head."""

    def forward(self, x: Tensor) -> Tensor:
        """Return one row of pooled outputs per image."""
        if self.taps == "last":
            return self.embed(x)
        parts = []
        for i, part in enumerate(self.maps(x)):
            if part.ndim == 2:
                parts.append(part)
                continue
            parts += [part.mean(dim=(2, 3)), part.square().mean(dim=(2, 3)).sqrt()]
            if i in self.in_cells:
                parts.append(adaptive_avg_pool2d(part, 2).flatten(1))
            if str(i) in self.places:
                parts.append(self.places[str(i)](part))
        return torch.cat(parts, dim=1)

    def without_cells(self) -> Tapped:
        """Return the same network without the means over cells."""
        twin = copy.copy(self)
        twin.in_cells = ()
        return twin


class Network(Backbone):
    """A frozen pretrained network.

    The signed square root of a pooled output is a feature. The network itself is kept by
    reference unless it is `held`: a saved model holds only `centre` and `factor`, which
    standardise the features of synthetic images. These are always the same, so the map depends on
    no task and no seed.

    Parameters
    ----------
    tapped
        The network.
    size
        Side length of the images it wants; others are resized.
    mean, deviation
        Of the three channels, as fractions of one: images are normalised with them.
    views
        1, 2: average with the mirror image, or 8: with crops and their mirror images too.

    Attributes
    ----------
    trained_on : str
        What the weights were trained on.
    seen_classes : tuple of str
        Names of the classes they were trained on; empty where the weights do not tell.
    form : dict
        What the network is built from beside its weights and the constructor's arguments, as JSON
        can hold it.
    held : bool
        Whether a saved model holds the network's weights.
    """

    batch_size: ClassVar[int] = 32
    gpu_batch_size: ClassVar[int] = 512
    sees_task: ClassVar[bool] = False
    trained_on: str = ""
    seen_classes: tuple[str, ...] = ()
    form: Mapping[str, Any]
    held: bool = False
    mean: Tensor
    deviation: Tensor
    centre: Tensor
    factor: Tensor

    def __init__(
        self,
        tapped: Tapped,
        size: int,
        mean: Sequence[float],
        deviation: Sequence[float],
        views: int,
    ) -> None:
        super().__init__()
        if views not in VIEWS:
            raise ClsnetError(f"unknown number of views {views!r}: use 1, 2 or 8.")
        self.form = {}
        self.size = size
        self.taps = tapped.taps
        self.views = views
        for name, value in (("mean", mean), ("deviation", deviation)):
            self.register_buffer(name, torch.tensor(value).reshape(-1, 1, 1), persistent=False)
        self.register_buffer("centre", torch.zeros(()))
        self.register_buffer("factor", torch.ones(()))
        self._runtimes = {size: Runtime(tapped)}
        if tapped.taps == "many":
            self._runtimes[size * 3 // 2] = Runtime(tapped.without_cells())

    @classmethod
    def restored(
        cls, config: Mapping[str, Any], form: Mapping[str, Any], state: Mapping[str, Tensor]
    ) -> Self:
        """Return a network that is held, without what its weights once came from.

        Parameters
        ----------
        config, form
            Those of the network.
        state
            Its weights, by name.
        """
        backbone = cls.__new__(cls)
        try:
            backbone._wrap(cls._built(form, state), form, **config)
        except (RuntimeError, TypeError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ClsnetError(
                f"the {cls.name} network that the model holds does not fit the packages "
                f"installed here: {reason}"
            ) from None
        backbone.held = True
        return backbone

    @classmethod
    def _built(cls, form: Mapping[str, Any], state: Mapping[str, Tensor]) -> nn.Module:
        """Return the network with these weights."""
        raise NotImplementedError

    def _wrap(self, network: nn.Module, form: Mapping[str, Any], *args: Any, **config: Any) -> None:
        """Become the backbone of a network; `config` are the constructor's arguments."""
        raise NotImplementedError

    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Standardise the features of dead leaves, whatever the task and the seed."""
        self.as_input(X[:1])
        self.settle()
        leaves = torch.from_numpy(_coloured_leaves()).to(self.centre.device)
        Z = torch.cat([self._features(part) for part in torch.split(leaves, self.batch_size)])
        deviation = Z.std(dim=0, correction=0)
        floor = 0.1 * deviation.mean()
        self.centre = Z.mean(dim=0)
        self.factor = 1 / torch.where(deviation + floor > 0, deviation.maximum(floor), 1.0)

    def as_input(self, X: np.ndarray) -> Tensor:
        """Return a copy of the images: bytes as bytes, fractions of one in float32."""
        if X.ndim not in (3, 4) or (X.ndim == 4 and X.shape[1] not in (1, 3)):
            raise ClsnetError(
                f"the {self.name} backbone needs images, (n, h, w) or (n, 3, h, w), "
                f"not an array of shape {X.shape}."
            )
        fractions = np.issubdtype(X.dtype, np.floating)
        white = 1 if fractions else 255
        if X.size and not -SLACK <= X.min() <= X.max() <= white + SLACK:
            raise ClsnetError(
                f"the {self.name} backbone needs images of 0 to 255 as integers, or of 0 to 1 "
                f"as fractions, not {X.dtype} of {X.min():.4g} to {X.max():.4g}."
            )
        return torch.from_numpy(np.array(X, dtype=np.float32 if fractions else np.uint8))

    def settle(self) -> None:
        """Convert the network for the next image, so that all from now on are treated alike."""
        for run in self._runtimes.values():
            run.settle()

    def run_in_pytorch(self) -> list[nn.Module]:
        """Run nothing but plain modules from now on, and return them: as exporters want it."""
        networks = {size: run.network for size, run in self._runtimes.items()}
        self._runtimes = networks  # type: ignore[assignment]
        return list(networks.values())

    def forward(self, X: Tensor) -> Tensor:
        """Return one row of features per image."""
        return (self._features(X) - self.centre) * self.factor

    def maps(self, x: Tensor) -> list[Tensor]:
        """Return the network's outputs at several depths, for normalised images."""
        return self.tapped.maps(x)

    def embed(self, x: Tensor) -> Tensor:
        """Return the network's pooled last layer, for normalised images."""
        return self.tapped.embed(x)

    def normalised(self, X: Tensor, size: int | None = None) -> Tensor:
        """Return images as the network wants them, or of another size."""
        size = size or self.size
        x = X if X.ndim == 4 else X[:, None]
        x = x.float() if x.is_floating_point() else x.float().div_(255)
        if x.shape[-2:] != (size, size):
            x = interpolate(x, (size, size), mode="bilinear", antialias=True)
        return (x - self.mean).div_(self.deviation)

    def weights_state(self) -> dict[str, Tensor]:
        """Return the network's tensors by name."""
        return self.tapped.network.state_dict()

    def state_to_hold(self) -> dict[str, Tensor]:
        """Return the network's tensors, having made sure that they and `form` rebuild it."""
        state = self.weights_state()
        if not self.held:
            try:
                twin = self.restored(self.config, json.loads(json.dumps(dict(self.form))), state)
                same = twin.fingerprint == self.fingerprint
            except (ClsnetError, TypeError):
                same = False
            if not same:
                raise ClsnetError(
                    f"a model cannot hold {self}, which is not built from its weights alone; "
                    "let it refer to it instead."
                )
        return state

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of everything that the features follow from, wherever the weights lie."""
        views = self.views if self.views > 2 else self.views == 2  # once it was yes or no
        nodes = [place.get_buffer("bias").numel() for place in self.tapped.places.values()]
        form = json.dumps([self.name, self.size, self.taps, views, *nodes]).encode()
        extra = {"form": torch.tensor(list(form), dtype=torch.uint8)}
        return fingerprint(
            self.weights_state() | {"mean": self.mean, "deviation": self.deviation} | extra
        )

    @property
    def has_nodes(self) -> bool:
        """Whether there are random nodes at every place of the network's outputs."""
        return len(self.tapped.places) > 0

    @property
    def tapped(self) -> Tapped:
        """The network, from normalised images to pooled outputs."""
        tapped = self._runtimes[self.size].network
        assert isinstance(tapped, Tapped)
        return tapped

    @torch.no_grad()
    def _features(self, X: Tensor) -> Tensor:
        parts = []
        for size, run in self._runtimes.items():
            number = self.views if size == self.size else min(self.views, 2)
            seen = views(self.normalised(X, size), number)
            parts.append(torch.stack([_root(run(x)) for x in seen]).mean(dim=0))
        return torch.cat(parts, dim=1)

    def _apply(self, fn: Run, recurse: bool = True) -> Self:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._runtimes = {size: run.moved(fn) for size, run in self._runtimes.items()}
        return self


def needed(module: str, purpose: str, extra: str) -> Any:
    """Import an optional module, or say in one line how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        message = f"{purpose} needs {module}: pip install 'clsnet[{extra}]'"
        raise ClsnetError(message) from None
    except Exception as error:
        raise ClsnetError(f"{purpose} needs {module}, which fails to import: {error}") from None


def _root(v: Tensor) -> Tensor:
    return v.sign() * v.abs().sqrt()


def _coloured_leaves() -> np.ndarray:
    """Draw dead leaves whose channels each have their own black and white."""
    random = np.random.RandomState(0)
    grey = dead_leaves(N_LEAVES, random)[:, None]
    black, white = random.uniform(size=(2, N_LEAVES, 3, 1, 1))
    return np.asarray(255 * (black + (white - black) * grey), dtype=np.uint8)
