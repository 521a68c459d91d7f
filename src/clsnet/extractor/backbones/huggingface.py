"""Vision models of the Hugging Face hub."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.network import Network
from clsnet.extractor.backbones.tapped import check_taps
from clsnet.extras import needed

LAYERS = 4
SECONDS = 10
OLDEST = "4.52"  # those before unpickle weights where torch is old
POSITIONS = "interpolate_pos_encoding"


class TransformersOutputs:
    """The last four hidden states; of tokens, the class token if there is one, and the patches.

    Parameters
    ----------
    stretched
        Whether positions are stretched over images of another size.
    """

    def __init__(self, stretched: bool) -> None:
        self.options = {POSITIONS: True} if stretched else {}

    def maps(self, network: Any, x: Any) -> list[Any]:
        """Return maps of patches, and class tokens as they are."""
        answer = network(
            pixel_values=x, output_hidden_states=True, return_dict=True, **self.options
        )
        states = [*answer.hidden_states[-LAYERS:-1], answer.last_hidden_state]
        return [part for state in states for part in _parts(state)]

    def last(self, network: Any, x: Any) -> Any:
        """Return the class token of the last layer, or its average where there is none."""
        state = network(pixel_values=x, return_dict=True).last_hidden_state
        first = _parts(state)[0]
        return first.flatten(2).mean(dim=2) if first.ndim > 2 else first


class HuggingFace(Network):
    """A vision model that ``transformers`` can load.

    Parameters
    ----------
    model
        Its name on the hub, or a folder.
    taps
        ``"several"`` depths, ``"many"``: at two scales, or the ``"last"`` layer, as in the paper.
    views
        1, 2: average with the mirror image, or 8: with crops and their mirror images too.
    """

    name = "hf"

    def __init__(self, model: str, taps: str = "several", views: int = 2) -> None:
        needed("torch", f"hf:{model}", "hub")
        transformers = needed("transformers", f"hf:{model}", "hub", OLDEST)
        try:
            with _quiet(transformers.logging):
                processor, network = _found(transformers, model)
        except (OSError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ClsnetError(f"cannot load hf:{model}: {reason}") from None
        normal = getattr(processor, "do_normalize", True)
        form = {
            "config": network.config.to_dict(),
            "size": _size(processor),
            "mean": processor.image_mean if normal else (0.0,) * 3,
            "deviation": processor.image_std if normal else (1.0,) * 3,
        }
        self._wrap(_eye(network), form, model, taps, views)

    @property
    def network(self) -> Any:
        """The module itself, frozen."""
        tapped: Any = self._tapped[self.size]
        return tapped.network

    def _build(
        self,
        state: Mapping[str, np.ndarray],
        form: Mapping[str, Any],
        model: str,
        taps: str,
        views: int,
    ) -> None:
        needed("torch", "hf", "hub")
        from clsnet.extractor.runtime.torch_module import as_tensors

        transformers = needed("transformers", "hf", "hub", OLDEST)
        options = {name: value for name, value in form["config"].items() if name != "auto_map"}
        config = transformers.AutoConfig.for_model(**options)
        network = _eye(transformers.AutoModel.from_config(config, trust_remote_code=False))
        network.load_state_dict(as_tensors(state))
        self._wrap(network, form, model, taps, views)

    def _wrap(
        self, network: Any, form: Mapping[str, Any], model: str, taps: str, views: int
    ) -> None:
        from clsnet.extractor.runtime.torch_module import TappedModule

        check_taps(taps)
        known = POSITIONS in inspect.signature(network.forward).parameters
        outputs = TransformersOutputs(stretched=known and taps == "many")
        tapped = TappedModule(network, outputs, taps)
        Network.__init__(self, tapped, form["size"], form["mean"], form["deviation"], views)
        self.form = form
        self.model = model
        self.trained_on = f"hf:{model}"
        names = tuple(map(str, (getattr(network.config, "id2label", None) or {}).values()))
        if any(name != f"LABEL_{i}" for i, name in enumerate(names)):
            self.seen_classes = names


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """Let transformers print nothing for a while."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _found(transformers: Any, model: str) -> tuple[Any, Any]:
    """Return the image processor and the network: from this machine, or else from the hub."""
    hub = needed("huggingface_hub", f"hf:{model}", "hub")
    if Path(model).is_dir():
        _check_saved(Path(model))
        return _loaded(transformers, model)
    try:
        hub.utils.validate_repo_id(model)
    except ValueError:
        raise OSError("there is no such folder.") from None
    with suppress(OSError):
        return _loaded(transformers, model, local_files_only=True)
    try:  # once, as transformers would ask for minutes
        hub.model_info(model, timeout=SECONDS)
    except hub.utils.RepositoryNotFoundError:
        raise OSError("the hub has no such model, or hides it from you.") from None
    except Exception as error:
        raise OSError(
            f"it is not on this machine, and the hub cannot be reached ({error})."
        ) from None
    return _loaded(transformers, model)


def _check_saved(folder: Path) -> None:
    """Refuse a folder that lacks what describes a model."""
    if not (folder / "config.json").is_file():
        raise OSError("it has no config.json, so it is not a saved model.")
    if not any((folder / f"{kind}processor_config.json").is_file() for kind in ("pre", "")):
        raise OSError(
            "it has no preprocessor_config.json; save the model's image processor there too."
        )


def _loaded(transformers: Any, model: str, **options: Any) -> tuple[Any, Any]:
    """Return the image processor and the network; a pooler that has no weights is zero."""
    options["trust_remote_code"] = False
    processor = transformers.AutoImageProcessor.from_pretrained(model, **options)
    network, told = transformers.AutoModel.from_pretrained(
        model, output_loading_info=True, use_safetensors=True, **options
    )
    missing = {name.removeprefix("vision_model.") for name in told["missing_keys"]}
    for name, parameter in _eye(network).named_parameters():
        if name in missing and not name.startswith("pooler."):
            raise ValueError(f"its weights lack {name}.")
        if name in missing:
            parameter.data.zero_()  # else random; no feature depends on it
    return processor, network


def _eye(network: Any) -> Any:
    """Return the part of a model that sees."""
    return getattr(network, "vision_model", network).float()


def _parts(state: Any) -> list[Any]:
    """Split tokens (n, tokens, channels) into a class token and a square map of the patches."""
    if state.ndim == 4:
        return [state]
    side = math.isqrt(state.shape[1])
    n_other = state.shape[1] - side**2
    patches = state[:, n_other:].transpose(1, 2).reshape(state.shape[0], -1, side, side)
    return [state[:, 0], patches] if n_other else [patches]


def _size(processor: Any) -> int:
    """Return the side length of what the processor makes of an image."""
    crop = getattr(processor, "do_center_crop", False)
    size = processor.crop_size if crop else processor.size
    if isinstance(size, int):
        return size
    return int(size.get("height") or size["shortest_edge"])
