"""A checkpoint of unfinished training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from clsnet.arrays.devices import to_numpy
from clsnet.errors import ClsnetError
from clsnet.pretraining.muon import Muon
from clsnet.storage.files import write_atomically
from clsnet.storage.json_text import read_json
from clsnet.storage.schema import ANYTHING, Misfit, check_finite, mapped, one_of, record, shown
from clsnet.storage.tensors import Tensors, as_bytes, checksum, read_tensors

FORMAT = "clsnet-pretraining"


class Checkpoint:
    """Weights and momenta after a number of epochs, in one safetensors file.

    Random numbers depend on seed and epoch alone, so there is no state of them to keep.

    Parameters
    ----------
    path
        The file.
    run
        The settings of the run. A file of another run is refused, and the error names a difference.
    """

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        self.path = path
        self.run: dict[str, Any] = json.loads(json.dumps(run))

    def write(self, model: nn.Module, optimiser: Muon, epochs: int) -> None:
        """Write atomically what `restore` needs."""
        tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
        for name, parameter in model.named_parameters():
            if parameter in optimiser.momenta:
                tensors[f"momentum.{name}"] = optimiser.momenta[parameter]
        arrays = {name: to_numpy(tensor.detach().contiguous()) for name, tensor in tensors.items()}
        run = json.dumps(self.run)
        metadata = {"format": FORMAT, "run": run, "epochs": str(epochs)}
        metadata["checksum"] = checksum(f"{run} {epochs}", arrays)
        write_atomically(self.path, as_bytes(arrays, metadata))

    def restore(self, model: nn.Module, optimiser: Muon) -> int:
        """Put weights and momenta back; return how many epochs they have seen, 0 without a file."""
        if not self.path.exists():
            return 0
        try:
            metadata, arrays = read_tensors(self.path)
            run = read_json(metadata.get("run", ""))
            self._check(metadata, arrays, run)
        except Misfit as error:
            raise ClsnetError(
                f"{self.path} ({error}) is not a checkpoint of clsnet pretrain; remove it."
            ) from None
        for key, value in self.run.items():
            if (was := run.get(key)) != value:
                told = "" if isinstance(was, dict | list) else f" ({shown(was)})"
                raise ClsnetError(
                    f"{self.path} is of a run with other {key}{told}: "
                    "give that run's options, or remove it."
                )
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        try:
            model.load_state_dict({name: tensors[f"model.{name}"] for name in model.state_dict()})
        except (KeyError, RuntimeError):
            raise ClsnetError(
                f"{self.path} has the weights of another network; remove it."
            ) from None
        for name, parameter in model.named_parameters():
            if f"momentum.{name}" in tensors:
                momentum = torch.zeros_like(parameter).copy_(tensors[f"momentum.{name}"])
                optimiser.momenta[parameter] = momentum
        return int(metadata["epochs"])

    def _check(self, metadata: dict[str, str], arrays: Tensors, run: Any) -> None:
        """Raise `Misfit` unless this is a whole checkpoint."""
        record({"format": one_of(FORMAT)}, closed=False).check(metadata, "its header")
        mapped(ANYTHING).check(run, "run")
        epochs = metadata.get("epochs", "")
        if metadata.get("checksum") != checksum(f"{metadata['run']} {epochs}", arrays):
            raise Misfit("its contents do not match its checksum")
        if not (epochs.isascii() and epochs.isdigit() and len(epochs) < 10):
            raise Misfit("it has no number of epochs")
        check_finite(arrays)
