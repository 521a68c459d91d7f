from pathlib import Path

import numpy as np
import pytest

from clsnet.data import Images, datasets, load_dataset, load_sequence
from clsnet.errors import ClsnetError


@pytest.fixture
def tree(tmp_path, put, cache) -> Path:
    """The usual tree: photos of several sizes in three classes."""
    root = tmp_path / "root"
    for i, wnid in enumerate(("n03", "n01", "n02")):
        for j in range(4):
            put(root / f"train/{wnid}/{wnid}_{j}.JPEG", 10 * i + j, 50 + j, 40)
        put(root / f"val/{wnid}/ILSVRC2012_val_{i}.JPEG", 100 + i, 30, 60)
    return root


def test_the_usual_tree(tree):
    data = load_dataset("ImageNet", tree)
    assert data.name == "ImageNet" and data.class_names == ("n01", "n02", "n03")
    assert isinstance(data.X_train, Images)
    assert data.X_train.shape == (12, 3, 224, 224) and data.X_test.shape == (3, 3, 224, 224)
    assert data.y_train.tolist() == [0] * 4 + [1] * 4 + [2] * 4 and data.y_test.tolist() == [
        0,
        1,
        2,
    ]
    wanted = Images([tree / f"train/n02/n02_{j}.JPEG" for j in range(4)], size=224)
    np.testing.assert_array_equal(np.asarray(data.X_train[4:8]), np.asarray(wanted))


def test_a_list_chooses_the_classes_and_their_order(tree):
    (tree / "classes.txt").write_text("n03\n\nn01\nn03\n")
    data = load_dataset("ImageNet", tree)
    assert data.class_names == ("n03", "n01") and data.y_test.tolist() == [0, 1]
    np.testing.assert_array_equal(
        data.X_test[0], Images([tree / "val/n03/ILSVRC2012_val_0.JPEG"], 224)[0]
    )


@pytest.mark.parametrize(
    ("classes", "reason"),
    [("n01\nn77", "train/n77 holds no images: .* or list the classes"), ("\n", "names no class")],
)
def test_a_list_of_classes_that_are_not_there(tree, classes, reason):
    (tree / "classes.txt").write_text(classes)
    with pytest.raises(ClsnetError, match=reason):
        load_dataset("ImageNet", tree)


def test_a_list_that_is_no_text(tree):
    choice = tree / "classes.txt"
    choice.write_text("n01\n", encoding="utf-16")
    with pytest.raises(ClsnetError, match=r"cannot read .*classes\.txt: .* in UTF-8"):
        load_dataset("ImageNet", tree)
    choice.write_text("n01\n", encoding="utf-8-sig")
    assert load_dataset("ImageNet", tree).class_names == ("n01",)
    choice.unlink()
    choice.mkdir()
    with pytest.raises(ClsnetError, match=r"cannot read .*classes\.txt"):
        load_dataset("ImageNet", tree)


def test_a_class_without_validation_images(tree):
    (tree / "val/n02/ILSVRC2012_val_2.JPEG").unlink()
    with pytest.raises(ClsnetError, match="val/n02 holds no images"):
        load_dataset("ImageNet", tree)


def test_the_cache_and_what_to_bring_there(tree, cache):
    [info] = [info for info in datasets() if info.name == "ImageNet"]
    assert not info.available() and not info.fetchable
    with pytest.raises(ClsnetError) as caught:
        load_dataset("ImageNet", tree / "train")
    message = str(caught.value)
    assert message.startswith(f"ImageNet is not in {tree / 'train'} or {cache / 'imagenet'}: put")
    assert "\n" not in message
    cache.mkdir()
    tree.rename(cache / "imagenet")
    assert info.available() and len(load_dataset("ImageNet").X_test) == 3


def test_sequences(tree):
    sequence = load_sequence("ImageNet-2/2", tree)
    assert sequence.name == "ImageNet-2/2" and len(sequence.base_classes(0)) == 1
    with pytest.raises(ClsnetError, match="'ImageNet-200/40': only 3 classes of ImageNet are here"):
        load_sequence("ImageNet-200/40", tree)
