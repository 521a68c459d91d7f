import json

import numpy as np
import pytest

from clsnet.data import load_sequence
from clsnet.errors import ClsnetError
from clsnet.evaluation.answers import Answers
from clsnet.evaluation.harness import Job
from clsnet.evaluation.store import read_run
from clsnet.methods import get_method


def silent(*line):
    pass


@pytest.fixture(scope="module")
def digits():
    return load_sequence("Digits-6/3")


@pytest.fixture(scope="module")
def run(digits, tmp_path_factory):
    job = Job("slda", 0, 3, "fast", "agnostic", False, tmp_path_factory.mktemp("runs"))
    job.run(digits, silent)
    return read_run(job.path(digits))


def test_a_run_tells_which_test_samples_of_the_data_set_were_answered_right(run, digits):
    answers = Answers.unpacked(run["answers"])
    y = digits.dataset.y_test
    used = np.isin(y, [c for task in run["order"] for c in task])
    np.testing.assert_array_equal(answers.tested, used)
    assert 0 < used.sum() < len(y)
    model = get_method("slda").build(3, "fast")
    for task in digits.tasks(digits.order(3, 0)):
        model.partial_fit(task.X_train, task.y_train)
    alone = np.array([model.predict(x[None])[0] for x in digits.dataset.X_test])
    np.testing.assert_array_equal(answers.right, used & (alone == y))


def test_right_answers_make_up_the_last_row_of_the_matrix(run, digits):
    right, y = Answers.unpacked(run["answers"]).right, digits.dataset.y_test
    assert run["R"][-1] == [np.mean(right[np.isin(y, task)]) for task in run["order"]]


def test_another_order_of_classes_has_the_same_places(digits, tmp_path):
    """A nearest class mean of the same features does not depend on the order."""
    found = []
    for index in range(2):
        job = Job("ncm", index, 3, "fast", "agnostic", False, tmp_path)
        found.append(Answers.unpacked(job.run(digits, silent)["answers"]))
    assert found[0].same_test(found[1])
    np.testing.assert_array_equal(found[0].right, found[1].right)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 10_000])
def test_answers_are_a_few_bits_in_the_file(n):
    random = np.random.default_rng(n)
    tested = random.random(n) < 0.9
    tested[0] = True
    answers = Answers(tested, tested & (random.random(n) < 0.5), "4d1a")
    packed = answers.packed()
    assert len(json.dumps(packed)) < 100 + n / 2.9
    again = Answers.unpacked(json.loads(json.dumps(packed)))
    np.testing.assert_array_equal(again.right, answers.right)
    assert again.same_test(answers)


def test_other_labels_or_other_classes_are_another_test():
    y = np.array([0, 1, 2, 0, 1, 2])

    def answers(y, *classes):
        tasks = [type("T", (), {"classes": (c,)}) for c in classes]
        return Answers.of([np.ones(np.sum(y == c), bool) for c in classes], tasks, y)

    assert answers(y, 0, 1).same_test(answers(y, 1, 0))
    assert not answers(y, 0, 1).same_test(answers(y, 0, 2))
    assert not answers(y, 0, 1).same_test(answers(y[::-1], 0, 1))


BROKEN = {
    "no object": [1, 2],
    "no mask": {"right": None},
    "too short": {"right": "AA=="},
    "no base64": {"tested": "!!!!"},
    "untested": {"tested": "A" * 60},
    "no number": {"samples": "many"},
    "negative": {"samples": -360},
}


@pytest.mark.parametrize("change", BROKEN)
def test_a_file_with_broken_answers_is_no_finished_run(run, tmp_path, change):
    broken = BROKEN[change]
    if isinstance(broken, dict):
        broken = {**run["answers"], **broken}
    path = tmp_path / "0.json"
    path.write_text(json.dumps({**run, "answers": broken}))
    with pytest.raises(ClsnetError, match=r"0\.json is not a finished run; move it away"):
        read_run(path)
