"""Edits of model files whose checksum is valid: any value of the header, any array."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from clsnet.storage.model_file import MODEL
from clsnet.storage.tensors import checksum, read_tensors

Header = dict[str, Any]
Tensors = dict[str, np.ndarray]

NAMES = (
    *("", "auto", "identity", "columns", "patches", "hf", "timm", "resnet", "callable", "evil"),
    *("hf:evil/model", "timm:local-dir:/tmp/evil", "evil.safetensors", "resnet18:/etc/passwd"),
    *(
        "efficientnet-lite1x",
        "os.system",
        "../../etc/passwd",
        "decay",
        "queue",
        "balanced",
        "total",
    ),
    *(
        "tasks",
        "classes",
        "full",
        "diagonal",
        "low-rank",
        "A",
        "Z",
        "G",
        "G*",
        "Z+G",
        "relu",
        "none",
    ),
    *("a\0", "\x1b[31mred", "=HYPERLINK(1)", "x" * 5000, "\ud800"),
)
NUMBERS = (
    *(0, 1, 2, 3, -1, -2, 7, 12_000, 2**31, 2**32, 2**53, 2**63, 2**64, 10**30, 10**400, 50_000),
    *(0.0, -0.0, 0.5, 1e-300, 1e300, -1e300, 1e-12, 1e12, float("nan"), float("inf")),
)
OTHERS = (None, True, False, [], {}, [[]], [None], {"": None}, {"tuple": []}, {"tuple": 3})
REFERENCES = (
    {"backbone": "hf", "config": {"model": "evil/model", "taps": "last", "views": 1}},
    {"backbone": "timm", "config": {"model": "local-dir:/tmp/evil"}},
    {"backbone": "resnet", "config": {"weights": "/etc/passwd"}},
    {"backbone": "callable", "config": {"function": "evil"}},
    {"backbone": "evil", "config": {}},
    {"backbone": "evil:evil", "config": {"source": "x"}},
    {"backbone": "identity", "config": {"scale": "none"}},
    {"backbone": "columns", "config": {"n_nodes": 10**6}},
    {"backbone": "patches", "config": {"filters": 10_000, "sizes": [64] * 32, "pool": 64}},
    {"forgetting": "evil", "config": {}},
    {"forgetting": "combined", "config": {"policies": {"tuple": [None]}}},
    {"augmentation": {"connection": "Z+G", "groups": 10**6, "group_size": 10**6}},
    {"dict": [[[], 1]]},
)


def read_parts(path: Path) -> tuple[Header, Tensors]:
    """Return the header and the arrays as they lie in a file."""
    metadata, tensors = read_tensors(path)
    return json.loads(metadata["header"]), tensors


def write_parts(path: Path, header: Any, tensors: Tensors) -> None:
    """Write a file whose checksum is right."""
    text = json.dumps(header)
    metadata = {"format": MODEL.format, "version": str(MODEL.version), "header": text}
    metadata["checksum"] = checksum(text, tensors)
    path.write_bytes(safetensors.numpy.save(tensors, metadata=metadata))


def edited(
    header: Header, tensors: Tensors, random: np.random.RandomState
) -> tuple[Header, Tensors]:
    """Return a copy with one to three edits."""
    header, tensors = copy.deepcopy(header), dict(tensors)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        if random.rand() < 0.7:
            header = edit_tree(header, random)
        else:
            _edit_tensors(tensors, random)
    return header, tensors


def edit_tree(header: Any, random: np.random.RandomState) -> Any:
    """Change what JSON holds at one place, and return it."""
    places = list(_places(header))
    if not places or random.rand() < 0.02:
        return _value(random)
    parent, key = places[random.randint(len(places))]
    what = random.rand()
    if what < 0.15:
        del parent[key]
    elif what < 0.25:
        other, name = places[random.randint(len(places))]
        parent[key] = copy.deepcopy(other[name])
    elif what < 0.3 and isinstance(parent, dict):
        parent[str(_pick(NAMES, random))] = _value(random)
    elif what < 0.35 and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[key]))
    elif what < 0.4:
        parent[key] = [parent[key]]
    elif what < 0.5 and type(parent[key]) in (int, float):
        parent[key] = parent[key] * _pick((-1, 0, 2, 10, 1000), random)
    elif what < 0.52:
        for _ in range(_pick((3, 50, 70, 150), random)):
            parent[key] = [parent[key]]
    else:
        parent[key] = _value(random)
    return header


def _places(value: Any) -> Any:
    """Yield every parent and key of a tree; long lists by a few of their items."""
    if not isinstance(value, (dict, list)):
        return
    for key in list(value) if isinstance(value, dict) else range(min(len(value), 5)):
        yield value, key
        yield from _places(value[key])


def _value(random: np.random.RandomState) -> Any:
    pool: Any = _pick((NAMES, NUMBERS, OTHERS, REFERENCES), random)
    return copy.deepcopy(_pick(pool, random))


def _edit_tensors(tensors: Tensors, random: np.random.RandomState) -> None:
    name = _pick(sorted(tensors), random) if tensors else "omega"
    array = tensors.get(name, np.zeros(1))
    what = random.randint(13)
    if what == 0:
        tensors.pop(name, None)
    elif what == 1:
        tensors[_pick(("omega", "network.a", "trace.9.gram", "x", f"{name}.x"), random)] = array
    elif what == 2:
        empty = ((0,), (10**6, 0), (0, 3), (), (1,) * 8, (3, 0, 5))
        tensors[name] = np.zeros(_pick(empty, random), array.dtype)
    elif what == 3:
        kinds = ("f2", "f4", "f8", "i1", "i8", "u1", "u8", "?")
        with np.errstate(all="ignore"):
            tensors[name] = np.nan_to_num(array).astype(_pick(kinds, random))
    elif what == 4:
        tensors[name] = np.ascontiguousarray(array.T)
    elif what == 5:
        tensors[name] = array.reshape(-1)
    elif what == 6:
        tensors[name] = array[..., None]
    elif what == 7:
        tensors[name] = array[: len(array) // 2] if array.ndim else array
    elif what == 8:
        tensors[name] = np.concatenate([array, array]) if array.ndim else array
    elif what == 9:
        factor = _pick((0, -1, 1e-300, 1e150, 1e300, 1e12, 1e-12), random)
        with np.errstate(all="ignore"):
            tensors[name] = np.asarray(array * factor).astype(array.dtype)
    elif what == 10:
        tensors[name] = np.asarray(random.standard_normal(array.shape)).astype(array.dtype)
    elif array.size and array.dtype.kind == "f":
        odd = array.copy()
        values = (np.nan, np.inf, -np.inf, 0.0, 1e30, -1.0, 1e300)
        with np.errstate(all="ignore"):
            odd.reshape(-1)[random.randint(array.size)] = _pick(values, random)
        tensors[name] = odd
    tensors.update({name: np.array(array, order="C") for name, array in tensors.items()})


def _pick(pool: Any, random: np.random.RandomState) -> Any:
    return pool[random.randint(len(pool))]
