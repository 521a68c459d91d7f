"""Base initialisation: pretraining a residual network on classes that no task uses."""

from clsnet.pretraining.base import Base, load_base
from clsnet.pretraining.loop import Status
from clsnet.pretraining.run import known_backbone, known_objective, pretrain

__all__ = ["Base", "Status", "known_backbone", "known_objective", "load_base", "pretrain"]
