import json
import shutil
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

KEYS = [
    "sequence",
    "method",
    "config",
    "order",
    "seed",
    "protocol",
    "R",
    "independent",
    "avg_acc",
    "bwt",
    "fwt",
    "answers",
    "order_free",
    "seconds",
    "memory",
    "environment",
    "format",
    "version",
]
NO_RUNS = {"half": '{"sequence": "Digits-10/5", "R": [[1.0', "foreign": "[1, 2]"}
QUICK = ("--method", "clsnet-demo", "--jobs", "1")


def start(environment, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "clsnet", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def wait_for(path, process):
    end = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.005)


def write_idx(path, array):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(header + array.astype(np.uint8).tobytes())


@pytest.fixture(scope="session")
def clothes(tmp_path_factory):
    """A folder of idx files in the form of Fashion-MNIST, with two photos of each class."""
    folder = tmp_path_factory.mktemp("clothes")
    for part in ("train", "t10k"):
        write_idx(folder / f"{part}-images-idx3-ubyte", np.arange(20 * 784).reshape(20, 28, 28))
        write_idx(folder / f"{part}-labels-idx1-ubyte", np.arange(20) % 10)
    return folder


# ------------------------------------------------------------------------------- a run


def test_a_run_is_one_file_with_the_documented_keys(golden):
    assert golden.file.is_file()
    assert [p.name for p in golden.folder.rglob("*") if p.is_file()] == ["0.json"]
    run = golden.run
    assert list(run) == KEYS
    assert (run["sequence"], run["method"], run["seed"]) == ("Digits-10/5", "clsnet", 0)
    assert run["protocol"] == "agnostic"
    assert run["config"]["preset"] == "fast"
    assert {"learn", "predict"} <= set(run["seconds"])
    assert {"model_mb", "exemplar_mb"} <= set(run["memory"])
    assert run["avg_acc"] == pytest.approx(np.mean(run["R"][-1]))
    assert run["memory"]["model_mb"] > 1


def test_the_tables_are_printed(golden):
    assert "clsnet, order 0: accuracy" in golden.printed
    assert "accuracy on each task, after each task" in golden.printed
    assert f"{golden.run['avg_acc']:.4f}" in golden.printed
    assert f"Results: {golden.folder / 'Digits-10/5'}" in golden.printed
    assert "in the paper" not in golden.printed
    assert "LEAKING" not in golden.printed


def test_a_benchmark_into_a_file_tells_of_every_task(golden):
    for task, row in enumerate(golden.run["R"], start=1):
        assert f"clsnet, order 0: task {task}/5, accuracy {np.mean(row):.4f}" in golden.printed


def test_the_same_command_again_finds_the_run(golden, run_warm):
    before = golden.file.stat().st_mtime_ns
    done = run_warm("bench", "Digits-10/5", "--out", golden.folder)
    assert done.status == 0, done.err
    assert f"clsnet, order 0: found in {golden.file}" in done.out
    assert "learned in" not in done.out
    assert f"{golden.run['avg_acc']:.4f}" in done.out
    assert golden.file.stat().st_mtime_ns == before


@pytest.mark.parametrize("sequence", ["Digits-10/3", "Digits-10/B4+3"])
def test_tasks_of_unequal_size_are_learned_kept_and_found(run_warm, tmp_path, sequence):
    command = ("bench", sequence, "--method", "ncm", "--jobs", 1, "--out", tmp_path)
    done = run_warm(*command)
    assert done.status == 0, done.err
    run = json.loads((tmp_path / sequence / "ncm/0.json").read_text())
    sizes = [len(classes) for classes in run["order"]]
    assert sizes == {"Digits-10/3": [4, 3, 3], "Digits-10/B4+3": [4, 2, 2, 2]}[sequence]
    assert len(run["R"]) == len(sizes)
    assert "found in" in run_warm(*command).out


def test_the_papers_row_stands_beside_its_sequence(golden, clothes, tmp_path, run_warm):
    """A finished run is put in place, so nothing is learned; the table is the real one."""
    file = tmp_path / "FashionMNIST-10/5/clsnet/0.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({**golden.run, "sequence": "FashionMNIST-10/5"}))
    done = run_warm("bench", "FashionMNIST-10/5", "--data", clothes, "--out", tmp_path)
    assert done.status == 0, done.err
    (row,) = (line for line in done.out.splitlines() if "CLSNet in the paper" in line)
    assert all(figure in row for figure in ("0.9185", "-0.0644", "-0.0194", "15.9", "6.13"))


def test_the_demo_protocol_is_labelled_as_leaking(tmp_path, run_warm):
    done = run_warm(
        "bench", "Digits-4/2", *QUICK, "--protocol", "demo", "--orders", 2, "--out", tmp_path
    )
    assert done.status == 0, done.err
    assert "clsnet-demo, LEAKING protocol" in done.out
    assert "LEAKING: the authors' published evaluation" in done.out
    runs = [json.loads(path.read_text()) for path in tmp_path.rglob("*.json")]
    assert len(runs) == 2
    assert all(run["protocol"] == "demo" for run in runs)


# ------------------------------------------------------------------- kills and interrupts


def test_a_killed_benchmark_goes_on_where_it_stopped(tmp_path, environment, run_warm):
    command = ("bench", "Digits-4/2", *QUICK, "--orders", 3, "--out", tmp_path)
    first, second, third = (tmp_path / f"Digits-4/2/clsnet-demo/{i}.json" for i in range(3))
    process = start(environment, *command)
    wait_for(first, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not third.exists()
    found = [path for path in (first, second) if path.exists()]
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in found}
    done = run_warm(*command)
    assert done.status == 0, done.err
    for path in found:
        assert f"found in {path}" in done.out
        assert (path.stat().st_mtime_ns, path.read_bytes()) == before[path]
    orders = [json.loads(path.read_text())["order"] for path in (first, second, third)]
    assert len({str(order) for order in orders}) == 3


def test_one_order_is_enough_where_the_order_makes_no_difference(tmp_path, run_warm):
    methods = ("--method", "ncm", "--method", "clsnet-paper")
    done = run_warm("bench", "Digits-4/2", *methods, "--orders", 3, "--out", tmp_path)
    assert done.status == 0, done.err
    counts = {name: len(list(tmp_path.rglob(f"{name}/*.json"))) for name in ("ncm", "clsnet-paper")}
    assert counts == {"ncm": 1, "clsnet-paper": 3}


def test_copies_of_a_run_count_once(tmp_path, run_warm):
    command = ("bench", "Digits-4/2", "--method", "clsnet-paper", "--orders", 2)
    assert run_warm(*command, "--out", tmp_path / "runs").status == 0
    once = run_warm("report", tmp_path, "-o", tmp_path / "once.md")
    shutil.copytree(tmp_path / "runs", tmp_path / "backup")
    twice = run_warm("report", tmp_path, "-o", tmp_path / "twice.md")
    assert (once.status, twice.status) == (0, 0)
    assert (tmp_path / "twice.md").read_text() == (tmp_path / "once.md").read_text()


def test_what_has_nothing_to_tune_is_not_called_tuned(tmp_path, run_warm):
    done = run_warm("bench", "Digits-4/2", "--method", "ncm", "--tune", "--out", tmp_path)
    assert done.status == 0, done.err
    assert "uned" not in done.out


def test_ctrl_c_is_one_line_and_status_130(tmp_path, environment):
    folder = tmp_path / "runs"
    process = start(environment, "bench", "Digits-10/5", "--jobs", 1, "--out", folder)
    wait_for(folder, process)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "clsnet: interrupted; the same command resumes.\n"
    assert not list(folder.rglob("*.json"))


# -------------------------------------------------------------------------------- errors


@pytest.fixture(scope="module")
def places(tmp_path_factory, golden, clothes):
    """Folders and files in which something is wrong."""
    root = tmp_path_factory.mktemp("wrong")
    places = {"root": root, "golden": golden.folder}
    places["file"] = root / "file"
    places["file"].touch()
    for name, text in NO_RUNS.items():
        places[name] = root / name
        path = places[name] / "Digits-10/5/clsnet/0.json"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    stored = json.loads((golden.folder / "Digits-10/5/clsnet/0.json").read_text())
    for name, change in OTHERS.items():
        places[name] = root / name
        path = places[name] / "Digits-10/5/clsnet/0.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({**stored, **change}))
    places["corrupt"] = root / "corrupt"
    shutil.copytree(clothes, places["corrupt"])
    images = places["corrupt"] / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-100])
    return places


OTHERS = {"version": {"version": "0.0.1"}, "format": {"version": "9.0", "format": 2}}
MISTAKES = {
    "method": (
        "bench Digits-10/5 --method cslnet --out {root}/out",
        "unknown method 'cslnet'; did you mean 'clsnet'?",
    ),
    "sequence": (
        "bench Digitz-10/5 --out {root}/out",
        "unknown data set 'Digitz': the nearest is 'Digits'",
    ),
    "form": ("bench Digits --out {root}/out", "'Digits' is not a sequence: write DATASET-C/T"),
    "division": ("bench Digits-10/11 --out {root}/out", "10 classes are too few for 11 tasks"),
    "idx": (
        "bench FashionMNIST-10/5 --data {corrupt} --out {root}/out",
        "{corrupt}/train-images-idx3-ubyte is not a whole idx file",
    ),
    "out": ("bench Digits-10/5 --out {file}", "cannot write results to {file}"),
    "seed": (
        "bench Digits-10/5 --seed 1 --out {golden}",
        "{golden}/Digits-10/5/clsnet/0.json holds a run with another seed (0)",
    ),
    "preset": (
        "bench Digits-10/5 --preset small --out {golden}",
        "holds a run with another preset (fast)",
    ),
    "option": (
        "bench Digits-10/5 --method ewc --option strenght=10 --out {root}/out",
        "the method 'ewc' has no option 'strenght'",
    ),
    "option-form": (
        "bench Digits-10/5 --option ridge --out {root}/out",
        "--option ridge: write NAME=VALUE",
    ),
    "option-value": (
        "bench Digits-10/5 --method ncm --method ewc --option device=abacus --out {root}/out",
        "the method 'ncm': device 'abacus' is not available here",
    ),
    "option-type": (
        "bench Digits-10/5 --method ewc --option epochs=many --out {root}/out",
        "the method 'ewc': epochs='many' is not a whole number",
    ),
    "another-option": (
        "bench Digits-10/5 --option ridge=0.1 --out {golden}",
        "holds a run with another ridge (None)",
    ),
    "version": (
        "bench Digits-10/5 --out {version}",
        "{version}/Digits-10/5/clsnet/0.json holds a run with another version (0.0.1)",
    ),
    "format": (
        "bench Digits-10/5 --out {format}",
        "{format}/Digits-10/5/clsnet/0.json was written by clsnet 9.0, in another format",
    ),
    "half": (
        "bench Digits-10/5 --out {half}",
        "{half}/Digits-10/5/clsnet/0.json is not a finished run; move it away",
    ),
    "foreign": (
        "bench Digits-10/5 --out {foreign}",
        "{foreign}/Digits-10/5/clsnet/0.json is not a finished run; move it away",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_status_2(run_warm, places, mistake):
    command, reason = (text.format(**places) for text in MISTAKES[mistake])
    done = run_warm(*command.split())
    assert done.status == 2, done.err
    assert done.err.count("\n") == 1
    assert done.err.startswith("clsnet: ")
    assert reason in done.err


def test_a_method_that_needs_torch_says_so_before_anything_is_run(environment, tmp_path):
    command = ["clsnet", "bench", "Digits-10/5", "--method", "ewc", "--out", str(tmp_path / "out")]
    code = f"import sys; sys.modules['torch'] = None; sys.argv = {command}\n"
    code += "from clsnet.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 2
    assert done.stderr == ("clsnet: the method 'ewc' needs torch: pip install 'clsnet[torch]'\n")
    assert not (tmp_path / "out").exists()


def test_an_option_reaches_the_method_and_the_file(run_warm, tmp_path):
    option = ("--method", "none", "--option", "epochs=0", "--option", "hidden=[8]", "--jobs", 1)
    done = run_warm("bench", "Digits-10/5", *option, "--out", tmp_path)
    assert done.status == 0, done.err
    run = json.loads((tmp_path / "Digits-10/5/none/0.json").read_text())
    assert run["config"] == {"preset": None, "tune": False, "epochs": 0, "hidden": [8]}
    assert "none, epochs=0" in done.out
    again = run_warm("bench", "Digits-10/5", *option, "--out", tmp_path)
    assert "found in" in again.out


def test_a_file_that_is_no_run_is_left_alone(run_warm, places):
    for name, text in NO_RUNS.items():
        (path,) = (p for p in places[name].rglob("*") if p.is_file())
        assert run_warm("bench", "Digits-10/5", "--out", places[name]).status == 2
        assert path.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--preset", "x"), ["--preset", "'x'", "fast", "best", "small"]),
        (("--protocol", "x"), ["--protocol", "'x'", "agnostic", "demo"]),
        (("--orders", "0"), ["--orders"]),
        (("--colour", "red"), ["--colour"]),
    ],
    ids=str,
)
def test_an_option_that_does_not_exist_is_named(run_clsnet, tmp_path, arguments, said):
    done = run_clsnet("bench", "Digits-10/5", "--out", tmp_path / "out", *arguments)
    assert done.status == 2
    assert "Traceback" not in done.err
    assert all(word in done.err for word in said)
    assert not (tmp_path / "out").exists()
