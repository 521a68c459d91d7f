"""Public names have a docstring, an example that runs, and a place in the reference."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[1] / "docs/reference"
PUBLIC = {
    "clsnet": None,
    "clsnet.photos": None,
    "clsnet.photos.card": ["Card", "card"],
    "clsnet.extractor": None,
    "clsnet.classifier.forgetting": None,
    "clsnet.images": None,
    "clsnet.data": None,
    "clsnet.methods": None,
    "clsnet.evaluation.protocol": ["Outcome", "evaluate"],
    "clsnet.evaluation.metrics": ["average_accuracy", "backward_transfer", "forward_transfer"],
    "clsnet.evaluation.comparison": ["Comparison", "compare"],
    "clsnet.evaluation.store": ["read_runs"],
    "clsnet.evaluation.summaries": ["Summary", "summarise"],
    "clsnet.checks": ["check_method", "method_checks"],
    "clsnet.memory": ["MemoryUse"],
    "clsnet.engines.processes": ["summarise"],
    "clsnet.engines.dask": ["summarise"],
    "clsnet.engines.ray": ["summarise"],
    "clsnet.engines.spark": ["summarise"],
    "clsnet.engines.torchrun": ["ColumnShard", "learn_columns", "summarise"],
    "clsnet.arrays.ranks": ["joined", "rank"],
    "clsnet.arrays.restarts": ["surviving"],
}
"""Modules, and the names in them that are public if they do not say so themselves."""
REFERENCE = "\n".join(page.read_text("utf-8") for page in sorted(PAGES.glob("*.md")))
EXAMPLES = "\n".join(re.findall(r"```python\n(.*?)```", REFERENCE, re.DOTALL))
NAMES = [
    (module, name)
    for module, names in PUBLIC.items()
    for name in names or importlib.import_module(module).__all__
    if not name.startswith("_")
]


def documented() -> set[int]:
    """Return the identities of all objects that the reference describes."""
    places = re.findall(r"^::: ([\w.]+)\.(\w+)$", REFERENCE, re.MULTILINE)
    return {id(getattr(importlib.import_module(module), name)) for module, name in places}


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_is_documented_with_an_example(module, name):
    thing = getattr(importlib.import_module(module), name)
    assert id(thing) in documented()
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    told = inspect.getdoc(thing) or ""
    assert ">>> " in told or re.search(rf"\b{name}\b", EXAMPLES)


def test_many_names_are_public():
    assert len(NAMES) > 60
