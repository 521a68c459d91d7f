"""CLSNet, the estimator: a model behind scikit-learn's verbs."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clsnet.arrays.devices import resolve_device, to_numpy
from clsnet.arrays.ranks import n_ranks
from clsnet.classifier.class_weights import BALANCED, ClassWeight
from clsnet.classifier.forgetting import ForgettingPolicy
from clsnet.classifier.rule import rule_of
from clsnet.errors import ClsnetError
from clsnet.estimator.batches import checked, first_samples
from clsnet.estimator.features import fix_extractor, fix_extractor_without_samples
from clsnet.estimator.fitted import FittedState
from clsnet.estimator.parameters import PARAMETERS
from clsnet.estimator.presets import demo_options, paper_options
from clsnet.estimator.samples import as_samples
from clsnet.extractor import Augmentation, Backbone
from clsnet.model import Model
from clsnet.sums import Sums


class CLSNet(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    FittedState,
):
    """Class-incremental classifier of complementary learning subnetworks.

    A frozen extractor represents samples. A classifier in closed form learns one task after
    another and keeps no sample of any. With the full curvature (the default) its weights equal
    ridge regression on the representations of all data seen so far, in whatever order it came. The
    extractor follows from the seed and the shape of a sample, unless a parameter asks for one that
    is fitted to the first task (``connection="A"`` or ``"G*"``, ``backbone="identity"``).
    `paper` and `demo` are the configurations that the authors described and released.

    Parameters
    ----------
    backbone
        The frozen part of the extractor: ``"columns"``, ``"identity"``, ``"patches"``,
        ``"efficientnet-lite0"``, ``"resnet18:FILE"`` or ``"FILE.safetensors"`` (of ``clsnet
        pretrain``), ``"hf:NAME"``, ``"timm:NAME"``, a name that another package registered, a
        `Backbone`, any callable from images to vectors (a ``torch.nn.Module`` too), or
        ``"auto"``: vectors by ``"columns"`` with random nodes, standardised from the sums that the
        classifier keeps; photographs by EfficientNet-Lite0; smaller images by whitened patches.
    taps, views
        Of a network named by `backbone`: whether features are taken at ``"several"`` depths,
        ``"many"`` (at two scales too), or from the ``"last"`` layer, as in the paper; those of
        EfficientNet-Lite0 may be ``"textured"``, the last layer and textures. And over how many
        views of an image they are averaged: 1, 2 with its mirror image, or 8 with crops.
        ``"auto"`` is ``"many"`` and 8 in the preset ``"best"``, else ``"several"`` and 2.
    connection
        What the classifier sees: ``"Z"`` the backbone's output, ``"G"`` random nodes of it,
        ``"G*"`` tuned nodes, ``"A"`` both Z and G*, ``"Z+G"`` both Z and G, or ``"auto"``: Z of
        vectors, of small images and of networks that have random nodes of their own; ``"A"`` of
        ``"identity"``; of others ``"Z+G"``. Nodes are tuned to samples of the first task, unless
        `prepare` was given others. The answers then depend on which task came first, and its
        samples cannot be forgotten exactly.
    groups, group_size
        Number of groups of random nodes, and of nodes in each. Vectors have as many nodes in all.
    activation
        Behind the nodes: ``"relu"``, ``"tanh"`` or ``"none"``.
    alpha
        Weight of the l1 norm when nodes are tuned.
    augmentation
        An `Augmentation` with further options; the five parameters before are then its own.
    curvature
        What is kept of a task: ``"full"``, ``"low-rank"`` or ``"diagonal"`` (the paper).
    gamma
        Trade-off of old tasks against the current one: one value, or one per task.
    terms
        Terms of the objective that are used: 1 current task, 2 old tasks, 3 previous solution.
    ridge
        Relative to the mean diagonal of the Gram matrix; or ``"auto"``, which expects the fewest
        wrong answers; or ``"gcv"``, which expects the least squared error. Both follow from sums.
    retain
        Keep one sum in ``"total"``, per ``"tasks"`` or per ``"classes"``: what can be forgotten
        exactly later on.
    class_weight
        How much each class counts: None, a dict from labels to weights (1 for others), or
        ``"balanced"``, which lets all classes count the same: ``n / (k n_c)`` for a class with n_c
        of n samples of k classes. They multiply the weights of samples. With ``retain="classes"``
        they are applied when weights are solved for, to all that was seen so far, and may be set
        at any time; else to samples as they come, and ``"balanced"`` is then for `fit` only.
    rank
        Directions kept by the low-rank curvature.
    fisher
        The diagonal curvature's plasticity: ``"mean-of-squares"`` (the paper's text) or
        ``"square-of-mean"`` (the authors' release).
    phantoms
        Zero outputs beside a task's own in that plasticity, for all classes it does not have.
    precision
        Of products of samples: ``"float64"``, ``"float32"``, or on a GPU ``"tf32"`` and
        ``"bfloat16"``. Sums and solutions are float64. Where products are rounded, weights depend
        a little on the order of tasks.
    forgetting
        How much old tasks still count: None or ``"long-term"`` (all of them fully), or a policy
        such as ``Decay(half_life=5)`` of `clsnet.classifier.forgetting`. A policy that forgets
        needs ``retain="tasks"``.
    short_term, queue
        Short for the policies ``ShortTerm(tasks)`` and ``Queue(length)``: tasks that fade when the
        next one is learned, and the length of a first-in-first-out queue.
    cache
        Folder for the outputs of a frozen network, so that other models need not compute them.
    preset
        ``"fast"``, ``"best"`` or ``"small"`` features for images.
    device
        ``"cpu"``, ``"cuda"`` or another device of torch, or ``"auto"``: a GPU where torch has one.
    random_state
        Seed of the extractor.

    Attributes
    ----------
    classes_ : ndarray
        Classes known now, in the order in which tasks brought them.
    tasks_ : list of LearnedTask
        Every task learned: its classes and their numbers of samples.
    notes_ : dict
        Whatever JSON can hold, saved with the model; it exists once it is set.

    References
    ----------
    D. Li and Z. Zeng, "Complementary Learning Subnetworks for Parameter-Efficient
    Class-Incremental Learning".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CLSNet()
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task], y[task])
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = PARAMETERS

    def __init__(
        self,
        *,
        backbone: str | Backbone | Callable[..., Any] = "auto",
        taps: str = "auto",
        views: int | str = "auto",
        connection: str = "auto",
        groups: int = 30,
        group_size: int = 30,
        activation: str = "relu",
        alpha: float = 0.01,
        augmentation: Augmentation | None = None,
        curvature: str = "full",
        gamma: float | Sequence[float] = 1.0,
        terms: Sequence[int] = (1, 2),
        ridge: float | str = "auto",
        retain: str = "total",
        class_weight: ClassWeight = None,
        rank: int = 200,
        fisher: str = "mean-of-squares",
        phantoms: int = 8,
        precision: str = "float64",
        forgetting: str | ForgettingPolicy | None = None,
        short_term: Sequence[int] = (),
        queue: int | None = None,
        cache: str | os.PathLike[str] | None = None,
        preset: str | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.backbone = backbone
        self.taps = taps
        self.views = views
        self.connection = connection
        self.groups = groups
        self.group_size = group_size
        self.activation = activation
        self.alpha = alpha
        self.augmentation = augmentation
        self.curvature = curvature
        self.gamma = gamma
        self.terms = terms
        self.ridge = ridge
        self.retain = retain
        self.class_weight = class_weight
        self.rank = rank
        self.fisher = fisher
        self.phantoms = phantoms
        self.precision = precision
        self.forgetting = forgetting
        self.short_term = short_term
        self.queue = queue
        self.cache = cache
        self.preset = preset
        self.device = device
        self.random_state = random_state

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn one task.

        Parameters
        ----------
        X, y, sample_weight
            As for `partial_fit`.
        """
        blank = clone(self)
        blank._learn([(X, y, sample_weight)], is_all=True)
        blank.consolidate()
        kept = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        self.__dict__ = kept | {k: v for k, v in vars(blank).items() if k.endswith("_")}
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one task; any class may be new.

        Sums are taken now. The weights that follow from them are solved for when they are first
        needed, so that many tasks in a row cost one solution.

        Parameters
        ----------
        X
            Samples: vectors (n, d), which may be a sparse matrix, grey images (n, h, w) or images
            (n, channels, h, w).
        y
            Labels, ints or strings.
        classes
            Not needed; accepted for scikit-learn's convention.
        sample_weight
            How much each sample counts: 2 is the sample twice, 0 is no sample. Weights that sum up
            to less than the number of samples only tell samples apart. The extractor, where it is
            fitted to samples, sees no weight but 0.
        """
        del classes
        self._learn([(X, y, sample_weight)])
        return self

    def learn(
        self,
        batches: Iterable[Sequence[Any]],
        *,
        save_to: str | os.PathLike[str] | None = None,
        every: int = 1000,
    ) -> Self:
        """Learn one task that does not fit in memory, or a stream that does not end.

        Parameters
        ----------
        batches
            Pairs (X, y), or (X, y, sample_weight), all of one task. The extractor of a first task
            is fitted to the first 10,000 samples. The diagonal curvature goes over the batches
            twice, so it needs an iterable that can start again, such as a list or a data loader,
            not a generator.
        save_to
            A file for the model as it is after every `every` batches. Whoever is killed loads it
            and goes on with the rest of the stream: ``tasks_[-1].n_samples`` tells how many samples
            of it have been learned.
        every
            Batches between two of these.
        """
        if self.curvature == "diagonal" and iter(batches) is batches:
            raise ClsnetError(
                'curvature="diagonal" reads a task twice, but these batches can be read only '
                "once; give a list or a data loader instead of a generator."
            )
        if save_to is None:
            self._learn(batches)
        else:
            self._learn_stream(batches, save_to, every)
        return self

    def summarise(self, batches: Iterable[Sequence[Any]], clip: float | None = None) -> Sums:
        """Return the sums of samples; nothing is learned yet.

        Sums add up, travel between processes and machines, and can be saved. Any model with the
        same extractor can learn them by `learn_sums`, as if it had seen the samples.

        Parameters
        ----------
        batches
            As for `learn`. If the model has no extractor yet, they fix it.
        clip
            The largest norm of a representation: longer ones are scaled down to it, as noise
            needs; see `Sums.with_noise`.

        Examples
        --------
        >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), ["cat", "dog"]
        >>> CLSNet(groups=2).summarise([(X, y), (X, y)])
        Sums(4 samples of 2 classes, 63 features)
        """
        if clip is not None and not 0 < clip < float("inf"):
            raise ClsnetError(f"clip={clip}: use a number above 0.")
        batches = self._with_extractor(batches)
        return self._ruled().summarise(checked(self, batches), clip)

    def summarise_columns(self, batches: Iterable[Sequence[Any]]) -> Sums:
        """Return the sums of all processes of ``torchrun``, with the classes of this one alone.

        For more classes than one process can hold; see `clsnet.engines.torchrun.learn_columns`.

        Parameters
        ----------
        batches
            As for `learn`; the same in every process.
        """
        if self.retain != "total" or self.curvature != "full" or isinstance(self.ridge, str):
            raise ClsnetError(
                'classes are dealt out to processes with curvature="full", retain="total" and a '
                "ridge that is known, such as ridge=1e-4."
            )
        batches = self._with_extractor(batches)
        return self._ruled().summarise_columns(checked(self, batches))

    def learn_sums(self, sums: Sums) -> Self:
        """Learn one task of which there are only sums, exactly as if its samples were there.

        Parameters
        ----------
        sums
            Of `summarise`, of a model with the same extractor; others are refused. If this model
            has no extractor yet, it gets theirs, unless that was fitted to samples.
        """
        if not isinstance(sums, Sums):
            raise ClsnetError(f"learn_sums takes Sums, as of summarise, not {sums!r:.40}.")
        with _unchanged_by_failure(self):
            self._validate_params()
            if not hasattr(self, "model_"):
                fix_extractor_without_samples(self, sums.source)
            self.model_ = self._ruled().with_sums(sums)
        return self

    def check_parameters(self) -> None:
        """Raise an error if parameters cannot be what they are; nothing is learned."""
        self._validate_params()
        rule_of(self.get_params(deep=False))
        resolve_device(self.device)

    def prepare(self, X: Any) -> Self:
        """Fix the extractor, given samples without labels; nothing is learned yet.

        Only extractors that are fitted to samples (``connection="A"`` or ``"G*"``,
        ``backbone="identity"``) look at more than their shape. What they take from these samples
        stays, whichever tasks are learned and forgotten. So give samples that may be kept: then
        the order of tasks does not matter, and every task can be forgotten exactly.
        """
        self._validate_params()
        fix_extractor(self, as_samples(self, X, reset=True))
        self.extractor_.prepared = True
        return self

    def forget(
        self, *, task: int | None = None, classes: Collection[Any] = (), exact: bool = True
    ) -> Self:
        """Forget a task or classes.

        With the full curvature and a sum kept for each (``retain``), the weights become those of a
        model that never saw it. Where that is not possible an error says why. It is not possible
        for samples of the first task if the extractor was fitted to them (``connection="A"`` or
        ``"G*"``, ``backbone="identity"``) and not to those of `prepare`. ``exact=False`` then
        removes its sums where they are kept apart. Else it removes the classes from every answer
        and keeps the task from constraining later ones. Tasks keep their numbers: a gamma per
        task, and the queue, still count the forgotten one.

        Parameters
        ----------
        task
            Number of the task, from 0.
        classes
            Labels.
        exact
            Whether to insist that nothing remains.
        """
        check_is_fitted(self)
        classes = [classes] if isinstance(classes, str) else classes
        if (task is None) == (len(classes) == 0):
            raise ClsnetError("say what to forget: task=NUMBER or classes=[LABEL, ...].")
        known = self.model_.classifier
        if task is not None and not 0 <= task < len(known.tasks):
            raise ClsnetError(f"there is no task {task}; tasks 0 to {len(known.tasks) - 1} exist.")
        unknown = [label for label in classes if label not in known.labels]
        if unknown:
            raise ClsnetError(f"class {unknown[0]!r} is not known to this model.")
        self.model_ = self.model_.without([] if task is None else [task], list(classes), exact)
        return self

    # ----------------------------------------------------------------- predicting

    def transform(self, X: Any) -> np.ndarray:
        """Return the representations A of samples."""
        check_is_fitted(self)
        return to_numpy(self.model_.represent(as_samples(self, X, reset=False)))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores, one column per class; for two classes one score, positive for the second.

        A score estimates the probability of its class; it may lie outside of 0 to 1.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities, one column per class."""
        scores = self._scores(X)
        return self.model_.probabilities(scores)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each sample."""
        return np.asarray(self.classes_[self.best(X)[0]])

    def best(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the place of the most probable class among `classes_`, and its score."""
        X = self._to_predict(X)
        return self.consolidate().model_.best(X)

    # -------------------------------------------------------------------- presets

    @classmethod
    def paper(cls, **options: Any) -> CLSNet:
        """Return the configuration of the paper's text."""
        return cls(**{**paper_options(), **options})

    @classmethod
    def demo(cls, **options: Any) -> CLSNet:
        """Return the configuration that the authors released."""
        return cls(**{**demo_options(), **options})

    # -------------------------------------------------------------------- private

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _n_features_out(self) -> int:
        """Number of columns of `transform`, for their names."""
        return self.extractor_.dimension

    def _learn(self, batches: Iterable[Sequence[Any]], is_all: bool = False) -> None:
        with _unchanged_by_failure(self):
            batches = self._with_extractor(batches, is_all)
            self.model_ = self._ruled().learned(lambda: checked(self, batches))

    def _learn_stream(
        self, batches: Iterable[Sequence[Any]], save_to: str | os.PathLike[str], every: int
    ) -> None:
        """Learn some batches at a time, all as one task, and save the model after each time."""
        if every < 1:
            raise ClsnetError(f"every={every}: use 1 batch or more.")
        if n_ranks() > 1:
            raise ClsnetError(
                "learn(save_to=...) is for one process; under torchrun use clsnet.engines.torchrun."
            )
        source, start, total = iter(batches), None, None
        while (first := next(source, None)) is not None:
            sums = self.summarise(itertools.chain([first], itertools.islice(source, every - 1)))
            start = start or self._ruled()
            total = sums if total is None else total + sums
            self.model_ = start.with_sums(total)
            self.save(save_to)
        if total is None:
            raise ClsnetError("this task is empty: there is no batch to learn from.")

    def _with_extractor(
        self, batches: Iterable[Sequence[Any]], is_all: bool = False
    ) -> Iterable[Sequence[Any]]:
        """Check parameters, fix the extractor if these are the first batches, and return these."""
        self._validate_params()
        if self.class_weight == BALANCED and self.retain != "classes" and not is_all:
            raise ClsnetError(
                'class_weight="balanced" changes with every task, so it needs retain="classes"; '
                "fit, which learns everything at once, does without."
            )
        if not hasattr(self, "model_"):
            sample, batches = first_samples(self, batches)
            fix_extractor(self, sample)
        return batches

    def _ruled(self) -> Model:
        """Return the model with the rule that the parameters ask for now."""
        rule, known = rule_of(self.get_params(deep=False)), self.model_.classifier
        was = known.rule
        if known.tasks and (was.curvature, was.retain) != (rule.curvature, rule.retain):
            raise ClsnetError("curvature and retain cannot change once a task has been learned.")
        return replace(self._whole, classifier=replace(known, rule=rule))

    def _scores(self, X: Any) -> np.ndarray:
        X = self._to_predict(X)
        return self.consolidate().model_.scores(X)

    def _to_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        if not self.model_.classes:
            raise ClsnetError("this model has forgotten every class; let it learn some first.")
        return as_samples(self, X, reset=False)


@contextlib.contextmanager
def _unchanged_by_failure(model: CLSNet) -> Iterator[None]:
    """Leave a model as it was if it cannot learn."""
    before = dict(model.__dict__)
    try:
        yield
    except BaseException:
        model.__dict__ = before
        raise
