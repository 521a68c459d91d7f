import numpy as np
import pytest
from PIL import Image

from clsnet.data import load_sequence
from clsnet.errors import ClsnetError
from clsnet.pretraining import load_base


def test_a_sequence_leaves_the_classes_that_no_task_brings():
    sequence = load_sequence("Digits-4/2")
    base = load_base("Digits-4/2", seed=3)
    used = {str(c) for task in sequence.order(seed=3, index=1) for c in task}
    assert used.isdisjoint(base.class_names)
    assert used | set(base.class_names) == set("0123456789")
    rows = sequence.dataset.y_train == int(base.class_names[2])
    np.testing.assert_array_equal(base.X[base.y == 2], sequence.dataset.X_train[rows])
    rows = sequence.dataset.y_test == int(base.class_names[5])
    np.testing.assert_array_equal(base.X_test[base.y_test == 5], sequence.dataset.X_test[rows])
    assert load_base("Digits-4/2", seed=4).class_names != base.class_names


def test_of_a_folder_all_classes_are_used(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for i in range(5):
            Image.new("RGB", (9, 8), (i, 0, 0)).save(tmp_path / "pets" / name / f"{i}.png")
    (tmp_path / "pets/cat/broken.png").write_bytes(b"")
    for base in (load_base(f"Folder:{tmp_path}/pets"), load_base("folder:pets", root=tmp_path)):
        assert base.class_names == ("cat", "dog")
        assert np.asarray(base.X).shape == (8, 3, 8, 9)
        assert len(base.X_test) == len(base.y_test) == 2
        [line] = base.skipped
        assert "broken.png" in line
    with pytest.raises(ClsnetError, match=r"broken\.png"):
        load_base(f"folder:{tmp_path}/pets", strict=True)


def test_a_folder_needs_a_name():
    with pytest.raises(ClsnetError, match="'folder:' is not a sequence"):
        load_base("folder:")


def test_a_sequence_of_all_classes_leaves_none():
    with pytest.raises(ClsnetError, match="Digits-10/5 leaves no class of Digits"):
        load_base("Digits-10/5")
