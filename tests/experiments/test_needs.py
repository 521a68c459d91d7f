from pathlib import Path

import pytest

from clsnet.data import load_sequence
from clsnet.evaluation.harness import Job
from clsnet.experiments.needs import Needed
from tests.experiments.runs import found, run

PLAIN = Needed(("Digits-10/5",), "clsnet-demo")
TERMS = Needed(("Digits-10/5",), "clsnet-demo", {"terms": (1, 2)})


@pytest.mark.parametrize(
    ("needed", "folder"),
    [
        (PLAIN, "plain"),
        (TERMS, "terms=1-2"),
        (Needed((), "clsnet-demo", {"short_term": ()}, protocol="demo"), "short_term=none,leaking"),
        (Needed((), "clsnet", {"connection": "G*"}, preset="fast"), "fast,connection=Gstar"),
        (Needed((), "clsnet", {"ridge": "a/b:c"}, network="resnet18"), "ridge=a_b_c,resnet18"),
        (Needed((), "ewc", tune=True), "tuned"),
    ],
)
def test_a_folder_says_what_is_in_it_and_suits_every_system(needed: Needed, folder: str) -> None:
    assert needed.folder == folder


def test_runs_are_recognised_by_what_their_files_say() -> None:
    runs = [
        run(PLAIN, 0.5),
        run(TERMS, 0.6),
        run(Needed(PLAIN.sequences, "ncm", preset="fast"), 0.7),
    ]
    all_found = found(*runs)
    for needed, accuracy in ((PLAIN, 0.5), (TERMS, 0.6)):
        summary = all_found.get(needed)
        assert summary is not None
        assert summary.mean("avg_acc") == pytest.approx(accuracy)
    assert all_found.get(Needed(PLAIN.sequences, "clsnet-demo", {"terms": (1,)})) is None
    assert all_found.get(Needed(("Digits-10/2",), "clsnet-demo")) is None
    assert all_found.get(Needed(PLAIN.sequences, "clsnet-demo", protocol="demo")) is None


def test_what_tuning_chose_does_not_tell_runs_apart() -> None:
    tuned = Needed(PLAIN.sequences, "ewc", tune=True)
    config = {"preset": None, "tune": True, "strength": 10.0}
    assert found(run(tuned, 0.5, config=config, chosen=["strength"])).get(tuned)
    assert found(run(tuned, 0.5, config=config)).get(tuned)  # as version 0.1 wrote it
    assert found(run(tuned, 0.5, config=config)).get(Needed(PLAIN.sequences, "ewc")) is None


def test_the_first_sequence_with_runs_counts() -> None:
    both = Needed(("Digits-10/2", "Digits-10/5"), "ncm", preset="fast")
    second = run(both, 0.5)
    first = run(Needed(("Digits-10/2",), "ncm", preset="fast"), 0.6)
    assert found(second).get(both).sequence == "Digits-10/5"
    assert found(second, first).get(both).sequence == "Digits-10/2"


def test_a_network_may_be_any_file_unless_it_is_named() -> None:
    needed = Needed(("Digits-10/5",), "clsnet", preset="fast", seeds=(0, 1), network="resnet18")
    runs = [run(needed, 0.5, seed=seed, backbone=f"{seed}/a.safetensors") for seed in range(2)]
    all_found = found(*runs, run(needed, 0.9, backbone="b.safetensors"))
    assert len(all_found.get(needed).runs) == 2
    assert all_found.get(needed, "b.safetensors").mean("avg_acc") == pytest.approx(0.9)


def test_jobs_are_those_of_the_benchmark() -> None:
    """The same file is found by ``clsnet bench --out OUT/terms=1-2``."""
    sequence = load_sequence("Digits-10/5")
    jobs = TERMS.jobs(Path("out"), 0, None, None)
    assert [job.index for job in jobs] == [0, 1, 2, 3, 4]
    assert jobs[1] == Job(
        method="clsnet-demo",
        index=1,
        seed=0,
        preset=None,
        protocol="agnostic",
        tune=False,
        out=Path("out/terms=1-2"),
        options=(("terms", (1, 2)),),
    )
    assert jobs[1].path(sequence) == Path("out/terms=1-2/Digits-10/5/clsnet-demo/1.json")


def test_seeds_have_folders_of_their_own() -> None:
    needed = Needed(
        ("Digits-6/3",), "ncm", preset="fast", orders=1, seeds=(0, 1), network="resnet18"
    )
    (job,) = needed.jobs(Path("out"), 1, "w.safetensors", "digest")
    assert job.out == Path("out/fast,resnet18/seed1")
    assert (job.options, job.network) == ((("backbone", "w.safetensors"),), "digest")
    assert job.cache == Path("out/features")
