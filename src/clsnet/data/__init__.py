"""Data sets, and task sequences with the paper's names.

>>> from clsnet.data import load_sequence
>>> sequence = load_sequence("Digits-10/5")
>>> [len(task.X_test) for task in sequence.tasks(sequence.order(seed=0, index=0))]
[72, 71, 74, 72, 71]
"""

from clsnet.data.dataset import Dataset
from clsnet.data.folder import load_folder
from clsnet.data.idx import read_idx
from clsnet.data.registry import DatasetInfo, datasets, load_dataset
from clsnet.data.sequences import Order, Task, TaskSequence, load_sequence
from clsnet.images import Images, Report, readable

__all__ = [
    "Dataset",
    "DatasetInfo",
    "Images",
    "Order",
    "Report",
    "Task",
    "TaskSequence",
    "datasets",
    "load_dataset",
    "load_folder",
    "load_sequence",
    "read_idx",
    "readable",
]
