"""Processes that torchrun starts, and starts again."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clsnet import CLSNet, ClsnetError
from clsnet.engines import torchrun as engine
from tests.arrays.test_ranks import forked, torchrun
from tests.engines.reading import OPTIONS, Reader, X, Y

torch_needed = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)


@pytest.fixture(autouse=True)
def tests_importable(monkeypatch):
    """Scripts import the samples of these tests."""
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), before]))


SUMMED = """
import json, os, sys
from pathlib import Path
import numpy as np
from clsnet import CLSNet
from clsnet.arrays.ranks import joined, rank
from clsnet.engines import torchrun
from tests.engines.reading import N_PARTS, OPTIONS, Reader, X

folder, deadly = Path(sys.argv[1]), int(sys.argv[2])
read = Reader(folder, deadly)

def counted(rows):
    with (folder / "read").open("a") as file:
        file.write(f"{int(rows[0])}\\n")
    return read(rows)

with joined():
    shards = np.array_split(np.arange(len(X)), 8)
    sums = torchrun.summarise(CLSNet(**OPTIONS), shards, counted, folder / "shards")
    if rank() == 0:
        sums.save(folder / "all.sums")
"""

COLUMNS = """
import json, sys
from pathlib import Path
from clsnet import CLSNet
from clsnet.arrays.ranks import joined, rank
from clsnet.engines.torchrun import learn_columns
from tests.engines.reading import OPTIONS, X, Y

with joined():
    batches = [(X[i::3], Y[i::3]) for i in range(3)]
    shard = learn_columns(CLSNet(**OPTIONS), batches)
    found = shard.predict(X).tolist()
    shard.save(sys.argv[1] + "/model.clsnet")
    told = Path(sys.argv[1]) / f"told-by-{rank()}.json"
    told.write_text(json.dumps([shard.model.classes_.tolist(), found]))
"""


@torch_needed
def test_a_restarted_run_goes_on_from_its_last_shard(tmp_path, assert_same):
    from clsnet import Sums

    script = tmp_path / "summed.py"
    script.write_text(SUMMED)
    read = Reader(tmp_path, deadly=1500)  # of the seventh shard, the fourth of the first process
    done = torchrun(2, "--standalone", "--max-restarts", 2, script, tmp_path, read.deadly)
    assert done.returncode == 0, done.stderr
    assert read.deaths == 1
    assert_same(Sums.load(tmp_path / "all.sums"))
    starts = [int(line) for line in (tmp_path / "read").read_text().split()]
    again = len(starts) - len(set(starts))
    assert again <= 2  # at most one shard of each process
    assert len(set(starts)) == 8


@torch_needed
def test_columns_are_dealt_out_and_the_best_of_the_best_is_the_answer(tmp_path, alone):
    script = tmp_path / "columns.py"
    script.write_text(COLUMNS)
    _, statuses, errors = forked(2, script, tmp_path)
    assert statuses == [0, 0], errors
    parts = [json.loads((tmp_path / f"told-by-{i}.json").read_text()) for i in range(2)]
    assert sorted(label for classes, _ in parts for label in classes) == list(range(10))
    assert all(len(classes) == 5 for classes, _ in parts)
    expected = CLSNet(**OPTIONS).fit(X, Y).predict(X)
    for _, found in parts:
        assert (np.array(found) == expected).all()
    assert len(list(tmp_path.glob("model.*-of-2.clsnet"))) == 2


def test_one_process_owns_all_columns(alone):
    weighted = [(X, Y, 1 + np.arange(len(Y)) % 2)]
    for batches in ([(X, Y)], weighted):
        shard = engine.learn_columns(CLSNet(**OPTIONS), batches)
        expected = CLSNet(**OPTIONS).learn(batches)
        np.testing.assert_allclose(
            shard.model.classifier_.omega, expected.classifier_.omega, atol=1e-9
        )
        assert (shard.predict(X) == expected.predict(X)).all()


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"retain": "classes"}])
def test_what_columns_cannot_do_is_refused(options):
    with pytest.raises(ClsnetError, match="a ridge that is known"):
        engine.learn_columns(CLSNet(**{**OPTIONS, **options}), [(X, Y)])
    with pytest.raises(ClsnetError, match="use a new model"):
        engine.learn_columns(CLSNet(**OPTIONS).fit(X, Y), [(X, Y)])


RESTARTED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from clsnet import CLSNet
from clsnet.arrays.ranks import joined, rank
from clsnet.arrays.restarts import surviving
from clsnet.extractor import Patches
from clsnet.extractor.extractor import Extractor
from clsnet.photos import learn
from clsnet.photos import reading_together
from tests.engines.reading import OPTIONS, X, Y

folder, photos = Path(sys.argv[1]), sys.argv[2]
reading_together.SHARD = 32
first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"

def note(text):
    with (folder / f"log-{rank()}").open("a") as file:
        file.write(f"{os.environ['TORCHELASTIC_RESTART_COUNT']} {text}\\n")

def report(stage, done, total):
    if stage == "reading photos":
        note(f"photos {done}")
        if first and rank() == 0 and done >= 36:
            os.kill(os.getpid(), signal.SIGKILL)

plain = Extractor.transform
def transform(self, samples):
    note(f"rows {len(samples)}")
    return plain(self, samples)

with joined():
    Extractor.transform = transform
    with surviving(folder / "tasks"):
        model = CLSNet(**OPTIONS)
        for rows in (Y < 5, Y >= 5):
            model.partial_fit(X[rows], Y[rows])
        Extractor.transform = plain
        learn(folder / "photos.clsnet", photos, backbone=Patches(filters=2, pool=2), report=report)
    if rank() == 0:
        model.save(folder / "model.clsnet")
"""


@torch_needed
def test_tasks_and_photos_of_a_restarted_run_are_not_read_again(shapes_folder, tmp_path):
    from clsnet import load
    from clsnet.extractor import Patches
    from clsnet.photos import learn

    script = tmp_path / "restarted.py"
    script.write_text(RESTARTED)
    done = torchrun(2, "--standalone", "--max-restarts", 1, script, tmp_path, shapes_folder)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "log-0").read_text().splitlines()
    assert any(line.startswith("0 rows") for line in lines)
    assert all(line == "1 rows 1" for line in lines if line.startswith("1 rows"))  # its own shape
    again = [int(line.split()[-1]) for line in lines if line.startswith("1 photos")]
    assert min(again) > 32  # the first shard was there
    learn(tmp_path / "one.clsnet", shapes_folder, backbone=Patches(filters=2, pool=2))
    one, two = (load(tmp_path / f"{name}.clsnet") for name in ("one", "photos"))
    np.testing.assert_allclose(one.classifier_.omega, two.classifier_.omega, atol=1e-9)
    alone = CLSNet(**OPTIONS)
    for rows in (Y < 5, Y >= 5):
        alone.partial_fit(X[rows], Y[rows])
    found = load(tmp_path / "model.clsnet").decision_function(X)
    np.testing.assert_allclose(found, alone.decision_function(X), atol=1e-8)
    assert not list(tmp_path.glob("**/*.features"))
    assert not (tmp_path / "tasks").exists()


BENCHED = """
import os, signal, sys
from pathlib import Path
from clsnet.arrays.ranks import rank
from clsnet.cli import main
from clsnet.extractor.extractor import Extractor

folder = Path(sys.argv[1])
runs, again = folder / "runs", os.environ.get("TORCHELASTIC_RESTART_COUNT")
plain, seen = Extractor.transform, []

def transform(self, samples):
    if (runs / "Digits-10/2/ncm/0.json").exists() and len(samples) > 1:
        seen.append(len(samples))
        with (folder / f"log-{rank()}").open("a") as file:
            file.write(f"{again} {len(samples)}\\n")
        if again == "0" and rank() == 0 and len(seen) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
    return plain(self, samples)

if again is not None:
    Extractor.transform = transform
sys.argv = ["clsnet", "bench", "Digits-10/2", "--method", "ncm", "--method", "clsnet"]
sys.argv += ["--jobs", "1", "--out", str(runs)]
main()
"""


@torch_needed
def test_a_benchmark_goes_on_from_its_finished_run_and_its_last_shard(tmp_path):
    script = tmp_path / "benched.py"
    script.write_text(BENCHED)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    done = torchrun(2, "--standalone", "--max-restarts", 1, script, tmp_path / "two")
    assert done.returncode == 0, done.stderr
    subprocess.run([sys.executable, script, tmp_path / "one"], check=True, capture_output=True)
    for method in ("ncm", "clsnet"):
        one, two = (
            json.loads((tmp_path / name / f"runs/Digits-10/2/{method}/0.json").read_text())
            for name in ("one", "two")
        )
        assert all(one[part] == two[part] for part in ("R", "independent", "answers"))
    before, after = (
        [
            line.split()[1]
            for line in (tmp_path / "two/log-0").read_text().splitlines()
            if line[0] == n
        ]
        for n in "01"
    )
    assert len(before) == 3
    assert before[0] not in after  # the first task of the second method, which was summed up
    assert not list((tmp_path / "two").rglob("*.restart"))
