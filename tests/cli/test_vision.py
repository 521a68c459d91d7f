"""From a folder of images over a network of one's own to a benchmark."""

import json
import shutil

import pytest
from PIL import Image

from clsnet.extractor.backbones.weights import read_about

QUICK = ("--option", "taps=last", "--option", "views=1", "--preset", "small")


def runs(folder):
    return {path.parent.name: json.loads(path.read_text()) for path in folder.rglob("0.json")}


@pytest.fixture(scope="module")
def shapes_folder(shapes_folder, tmp_path_factory):
    """The same images in 8x8 pixels."""
    folder = tmp_path_factory.mktemp("small") / "shapes"
    shutil.copytree(shapes_folder, folder)
    for path in folder.rglob("*.png"):
        Image.open(path).resize((8, 8)).save(path)
    return folder


@pytest.fixture(scope="module")
def network(shapes_folder, tmp_path_factory, run_warm):
    """Weights that know all eight classes."""
    out = tmp_path_factory.mktemp("network") / "w.safetensors"
    done = run_warm("pretrain", f"folder:{shapes_folder}", "--epochs", 1, "--out", out)
    assert done.status == 0, done.err
    assert len(read_about(out).classes) == 8
    return out


@pytest.fixture(scope="module")
def benchmark(shapes_folder, network, tmp_path_factory, run_warm):
    """Two methods side by side, with a cache."""
    root = tmp_path_factory.mktemp("bench")
    both = ("--method", "clsnet", "--method", "slda", "--jobs", 2, *QUICK)
    command = (
        *("bench", f"folder:{shapes_folder}/2", "--backbone", network, *both),
        *("--cache", root / "cache", "--allow-seen"),
    )
    done = run_warm(*command, "--out", root / "runs")
    assert done.status == 0, done.err + done.out
    return root, command, done


def test_a_network_of_ones_own_is_used_by_every_method(benchmark, network):
    root, _, done = benchmark
    found = runs(root / "runs")
    assert found.keys() == {"clsnet", "slda"}
    for run in found.values():
        assert run["sequence"] == "folder-shapes-8/2"
        assert run["config"]["backbone"] == str(network)
        assert run["config"]["taps"] == "last"
        assert "cache" not in run["config"]
        assert run["memory"]["backbone_mb"] > 40
        assert run["avg_acc"] > 0.3  # by chance 0.125
    assert f"{found['clsnet']['avg_acc']:.4f}" in done.out


def test_seen_classes_are_labelled_in_the_title_and_in_the_file(benchmark):
    root, _, done = benchmark
    assert [run["seen_classes"] for run in runs(root / "runs").values()] == [8, 8]
    assert done.out.count("SEEN CLASSES") >= 2


def test_the_same_command_finds_its_runs(benchmark, run_warm):
    root, command, first = benchmark
    again = run_warm(*command, "--out", root / "runs")
    assert again.status == 0, again.err
    assert again.out.count("found in") == 2
    assert "learned in" not in again.out
    assert again.out.split("Results:")[1] == first.out.split("Results:")[1]


def test_a_run_with_other_weights_of_the_same_name_is_not_taken_for_done(
    shapes_folder, write_network, tmp_path, run_warm
):
    file = tmp_path / "base.safetensors"
    out = tmp_path / "runs"
    command = (
        *("bench", f"folder:{shapes_folder}/2", "--backbone", file),
        *(*QUICK, "--jobs", 1, "--out", out),
    )
    write_network(file, seed=0)
    assert run_warm(*command).status == 0
    path = out / "folder-shapes-8/2/clsnet/0.json"
    before = path.read_bytes()
    write_network(file, seed=1)
    other = run_warm(*command)
    assert other.status == 2
    digest = json.loads(before)["network"]
    assert f"{path} holds a run with another network ({digest}); choose another" in other.err
    assert path.read_bytes() == before
    write_network(file, seed=0)
    assert "found in" in run_warm(*command).out


def test_a_run_that_does_not_tell_its_weights_is_read_but_not_taken_for_done(
    benchmark, run_warm, tmp_path
):
    root, command, _ = benchmark
    shutil.copytree(root / "runs", tmp_path / "runs")
    for path in (tmp_path / "runs").rglob("0.json"):
        run = json.loads(path.read_text())
        assert run.pop("network")
        path.write_text(json.dumps(run))
    done = run_warm(*command, "--out", tmp_path / "runs")
    assert done.status == 2
    assert "holds a run with another network (None)" in done.err
    report = run_warm("report", tmp_path / "runs", "-o", tmp_path / "report.html")
    assert report.status == 0, report.err


def test_another_run_uses_the_cache(benchmark, run_warm, tmp_path):
    root, command, _ = benchmark
    [kept] = (root / "cache").iterdir()
    before = kept.stat().st_mtime_ns, kept.read_bytes()
    other = [word for word in command if word != "--allow-seen"]
    other[other.index("slda")] = "ncm"
    done = run_warm(*other, "--jobs", 1, "--seed", 1, "--allow-seen", "--out", tmp_path)
    assert done.status == 0, done.err
    assert runs(tmp_path).keys() == {"clsnet", "ncm"}
    assert (kept.stat().st_mtime_ns, kept.read_bytes()) == before
    assert list((root / "cache").iterdir()) == [kept]


def test_the_cache_changes_no_figure(benchmark, run_warm, tmp_path):
    root, command, _ = benchmark
    place = command.index("--cache")
    plain = command[:place] + command[place + 2 :]
    done = run_warm(*plain, "--jobs", 1, "--out", tmp_path)
    assert done.status == 0, done.err
    for method, run in runs(tmp_path).items():
        assert run["R"] == runs(root / "runs")[method]["R"]


def test_a_gradient_method_learns_from_the_features_of_a_network(benchmark, network, run_warm):
    root, command, _ = benchmark
    sequence, cached = command[1], command[command.index("--cache") :]
    small = ("--option", "hidden=(50,)", "--option", "batch_size=10", "--option", "epochs=2")
    given = ("--backbone", network, "--method", "ewc", *small, "--jobs", 1)
    done = run_warm("bench", sequence, *given, *cached, "--out", root / "ewc")
    assert done.status == 0, done.err + done.out
    run = runs(root / "ewc")["ewc"]
    assert run["config"]["backbone"] == str(network)
    assert run["memory"]["backbone_mb"] > 40
    assert run["network"] == runs(root / "runs")["slda"]["network"]
    weights = (512 + 1) * 50 + (50 + 1) * 8
    assert run["memory"]["model_mb"] == 4 * (3 * weights + 2 * 512) / 2**20
    assert run["R"][0][0] > 0.3  # by chance 0.25


def test_a_network_of_base_classes_needs_no_permission(tmp_path, write_network, run_warm):
    """Digits that come in tasks are not those that the network knows."""
    from clsnet.pretraining import load_base

    file = write_network(tmp_path / "w.safetensors", load_base("Digits-4/2").class_names)
    command = ("bench", "Digits-4/2", "--backbone", file, "--jobs", 1, *QUICK)
    done = run_warm(*command, "--out", tmp_path / "runs")
    # Digits go from 0 to 16; a network takes them for dark images.
    assert done.status == 0, done.err + done.out
    assert runs(tmp_path / "runs")["clsnet"]["seen_classes"] == 0
    assert "SEEN CLASSES" not in done.out
    other = run_warm(*command, "--seed", 1, "--out", tmp_path / "others")
    assert other.status == 2
    assert "--allow-seen" in other.err and other.err.count("\n") == 1


# -------------------------------------------------------------------------------- errors


@pytest.fixture
def mistakes(shapes_folder, network, tmp_path):
    (tmp_path / "file").touch()
    return {"photos": shapes_folder, "network": network, "root": tmp_path}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--backbone {network}", "was pretrained on 8 of the 8 classes of folder-shapes-8/2"),
        ("--option taps=last --option backbone={network}", "was pretrained on 8 of the 8 classes"),
        (
            "--backbone {network} --allow-seen --method clsnet-demo",
            "the method 'clsnet-demo' sees samples as they are; no --backbone",
        ),
        ("--backbone {root}/absent.safetensors", "cannot read the weights {root}/absent"),
        ("--backbone resnet50:{network}", "holds weights of resnet18, not of resnet50"),
        ("--backbone resnet", "unknown backbone 'resnet'"),
        ("--method ewc --option taps=last", "the method 'ewc' has no option 'taps'"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(run_warm, mistakes, options, reason):
    words = options.format(**mistakes).split()
    place = f"folder:{mistakes['photos']}/2"
    done = run_warm("bench", place, *words, "--jobs", 1, "--out", mistakes["root"] / "out")
    assert done.status == 2, done.err + done.out
    assert done.err.count("\n") == 1
    assert reason.format(**mistakes) in done.err


def test_a_cache_that_cannot_be_kept_is_told(run_warm, mistakes):
    words = f"--backbone {mistakes['network']} --allow-seen --cache {mistakes['root']}/file"
    place = f"folder:{mistakes['photos']}/2"
    done = run_warm("bench", place, *words.split(), "--jobs", 1, "--out", mistakes["root"] / "out")
    assert done.status == 1
    assert f"clsnet, order 0 failed: cannot keep features in {mistakes['root']}/file" in done.out
    assert "Error" not in done.out + done.err


def test_unreadable_images_are_named_and_counted(shapes_folder, tmp_path, run_warm, network):
    photos = tmp_path / "photos"
    shutil.copytree(shapes_folder, photos)
    broken = [photos / "square-r/3.png", photos / "stripes-b/7.png"]
    for path in broken:
        path.write_bytes(b"no image")
    done = run_warm(
        *("bench", f"folder:{photos}/2", "--backbone", network, "--allow-seen", "--jobs", 1),
        *(*QUICK, "--out", tmp_path / "runs"),
    )
    assert done.status == 0, done.err
    assert all(str(path) in done.out for path in broken)
    assert "2 unreadable images are left out." in done.out


def test_a_run_on_another_folder_of_that_name_is_not_taken_for_ones_own(
    benchmark, shapes_folder, tmp_path, run_warm
):
    root, command, _ = benchmark
    other = tmp_path / "shapes"
    shutil.copytree(shapes_folder, other)
    (other / "square-r/3.png").unlink()
    done = run_warm("bench", f"folder:{other}/2", *command[2:], "--out", root / "runs")
    assert done.status == 2
    assert "holds a run with another folder" in done.err


def test_methods_without_a_network_learn_from_images_on_disk(shapes_folder, tmp_path, run_warm):
    done = run_warm(
        *("bench", f"folder:{shapes_folder}/2", "--method", "ewc", "--method", "il2m"),
        *("--option", "epochs=40", "--jobs", 1, "--out", tmp_path),
    )
    assert done.status == 0, done.err + done.out
    found = runs(tmp_path)
    assert found.keys() == {"ewc", "il2m"}
    assert all(run["R"][0][0] > 0.6 for run in found.values())  # by chance 0.25
