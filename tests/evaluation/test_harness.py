import numpy as np
import pytest

from clsnet.data import Dataset, TaskSequence, load_sequence
from clsnet.errors import ClsnetError
from clsnet.evaluation.comparison import compare
from clsnet.evaluation.harness import Job


@pytest.fixture
def noise():
    y = np.repeat(np.arange(2), 3)
    X = np.random.default_rng(0).integers(0, 256, (6, 3, 8, 8), dtype=np.uint8)
    return TaskSequence(Dataset("Noise", X, y, X, y, ("a", "b")), 2, 1)


@pytest.mark.parametrize(
    ("method", "network", "kept"),
    [
        ("ewc", False, False),
        ("joint", False, False),
        ("joint-finetuned", True, False),
        ("clsnet-paper", True, True),
        ("logistic", True, True),
    ],
)
def test_only_the_outputs_of_a_frozen_network_are_kept(
    noise, write_network, tmp_path, method, network, kept
):
    options = {"backbone": write_network(tmp_path / "w.safetensors")} if network else {}
    epochs = {} if kept else {"epochs": 1}
    cache = tmp_path / "cache"
    job = Job(
        *(method, 0, 0, None, "agnostic", False, tmp_path / "runs"),
        options=tuple({**options, **epochs}.items()),
        cache=cache,
    )
    run = job.run(noise, lambda *line: None)
    assert run["method"] == method
    assert cache.exists() == kept


def test_a_run_with_an_option_of_several_values_is_found_again(noise, tmp_path):
    options = {"hidden": (4,), "epochs": 1}
    start = "ewc", 0, 0, None, "agnostic", False, tmp_path
    job = Job(*start, options=tuple(options.items()))
    run = job.run(noise, lambda *line: None)
    assert job.stored(noise)["avg_acc"] == run["avg_acc"]
    with pytest.raises(ClsnetError, match=r"holds a run with another hidden \(\[4\]\)"):
        Job(*start, options=(("hidden", (5,)), ("epochs", 1))).stored(noise)


def test_a_tuned_run_tells_what_was_chosen_and_is_found_again(tmp_path):
    X, y = np.eye(20, dtype=np.float32).repeat(5, axis=0), np.arange(20).repeat(5) // 5 % 4
    data = TaskSequence(Dataset("Rows", X, y, X, y, tuple("abcd")), 4, 2)
    options = (("hidden", (4,)), ("epochs", 1))
    job = Job("ewc", 0, 0, None, "agnostic", True, tmp_path, options=options)
    run = job.run(data, lambda *line: None)
    assert run["chosen"] == ["strength"]
    assert run["config"]["strength"] > 0
    assert run["tuning"]["tried"] >= 4
    assert run["tuning"]["on_edge"] in ([], ["strength"])
    assert run["config"]["epochs"] == 1
    assert job.stored(data)["chosen"] == ["strength"]


def test_one_order_on_a_frozen_network_stands_for_all(shapes_folder, write_network, tmp_path):
    sequence = load_sequence(f"folder:{shapes_folder}/2")
    network = write_network(tmp_path / "w.safetensors")
    shared = {"backbone": network, "taps": "last", "views": 1}
    runs = {}
    for method, options in (("clsnet", {"connection": "Z"}), ("ncm", {})):
        given = tuple({**shared, **options}.items())
        jobs = [
            Job(method, i, 0, "fast", "agnostic", False, tmp_path, given, tmp_path / "features")
            for i in range(2)
        ]
        runs[method] = [job.run(sequence, lambda *line: None) for job in jobs]
        one, other = runs[method]
        assert one["order_free"] and other["order_free"]
        assert one["order"] != other["order"]
        assert one["answers"] == other["answers"]
    found = compare(runs["ncm"][:1], runs["clsnet"][:1])
    assert found == compare(runs["ncm"], runs["clsnet"])
    assert found.margin is not None
