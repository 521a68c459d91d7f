"""Unfinished training, as a file to go on from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import nn

from clsnet.errors import ClsnetError
from clsnet.pretraining.muon import Muon
from clsnet.storage.files import write_atomically

FORMAT = "clsnet-pretraining"


class Checkpoint:
    """Weights and momenta after a number of epochs, in one safetensors file.

    Random numbers depend on seed and epoch alone, so there is no state of them to keep.

    Parameters
    ----------
    path
        The file.
    run
        What the run is: a file of another run is refused, and the first difference named.
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
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        metadata = {"format": FORMAT, "run": json.dumps(self.run), "epochs": str(epochs)}
        write_atomically(self.path, safetensors.torch.save(tensors, metadata=metadata))

    def restore(self, model: nn.Module, optimiser: Muon) -> int:
        """Put weights and momenta back; return how many epochs they have seen, 0 without a file."""
        if not self.path.exists():
            return 0
        try:
            with safetensors.safe_open(self.path, framework="pt") as file:
                metadata = file.metadata() or {}
        except (OSError, safetensors.SafetensorError):
            metadata = {}
        if metadata.get("format") != FORMAT:
            raise ClsnetError(f"{self.path} is no checkpoint of clsnet pretrain; remove it.")
        run = json.loads(metadata["run"])
        for key, value in self.run.items():
            if (was := run.get(key)) != value:
                told = f" ({was})" if isinstance(was, int | str) else ""
                raise ClsnetError(
                    f"{self.path} is of a run with other {key}{told}: "
                    "give that run's options, or remove it."
                )
        tensors = safetensors.torch.load_file(self.path)
        model.load_state_dict({name: tensors[f"model.{name}"] for name in model.state_dict()})
        for name, parameter in model.named_parameters():
            if f"momentum.{name}" in tensors:
                momentum = torch.zeros_like(parameter).copy_(tensors[f"momentum.{name}"])
                optimiser.momenta[parameter] = momentum
        return int(metadata["epochs"])
