import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from clsnet.data import Images, datasets, load_dataset, load_sequence
from clsnet.errors import ClsnetError

WNIDS = ["n03", "n01", "n04", "n02"]


@pytest.fixture
def tree(tmp_path, put, cache) -> Path:
    """The official tree, with four classes of three training and two validation images."""
    root = tmp_path / "root" / "tiny-imagenet-200"
    lines = []
    for i, wnid in enumerate(WNIDS):
        for j in range(3):
            put(root / f"train/{wnid}/images/{wnid}_{j}.JPEG", 10 * i + j, 64, 64)
        (root / f"train/{wnid}/{wnid}_boxes.txt").write_text("0 0 1 1\n")
        for j in (0, 1):
            number = 4 * j + i
            put(root / f"val/images/val_{number}.JPEG", 100 + number, 64, 64)
            lines.append((number, f"val_{number}.JPEG\t{wnid}\t0\t32\t44\t62\n"))
    (root / "val/val_annotations.txt").write_text("".join(line for _, line in sorted(lines)))
    (root / "wnids.txt").write_text("\n".join(WNIDS) + "\n")
    (root / "words.txt").write_text("n01\tgoldfish\nn99\tthing\n")
    put(root / "test/images/test_0.JPEG", 999, 64, 64)
    return root


def pack(tree: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "tiny-imagenet-200.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(tree.rglob("*"), reverse=True):
            file.write(path, Path("tiny-imagenet-200") / path.relative_to(tree))
    return folder


def info():
    [one] = [one for one in datasets() if one.name == "TinyImageNet"]
    return one


def test_the_official_tree(tree):
    data = load_dataset("TinyImageNet", tree)
    assert data.name == "TinyImageNet" and data.class_names == ("n01", "n02", "n03", "n04")
    assert isinstance(data.X_train, Images) and isinstance(data.X_test, Images)
    assert data.X_train.shape == (12, 3, 64, 64) and data.X_test.shape == (8, 3, 64, 64)
    assert data.y_train.tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    assert data.y_test.tolist() == [2, 0, 3, 1, 2, 0, 3, 1] and data.y_test.dtype == np.int64
    goldfish = [tree / f"train/n01/images/n01_{j}.JPEG" for j in range(3)]
    np.testing.assert_array_equal(np.asarray(data.X_train[:3]), np.asarray(Images(goldfish)))
    tests = [tree / f"val/images/val_{number}.JPEG" for number in range(8)]
    np.testing.assert_array_equal(np.asarray(data.X_test), np.asarray(Images(tests)))


def test_folders_are_looked_into_in_order(tree, cache):
    assert not info().available() and not info().fetchable
    assert len(load_dataset("TinyImageNet", tree.parent).X_train) == 12
    shutil.copytree(tree, cache / "tiny-imagenet-200")
    assert info().available()
    assert len(load_dataset("TinyImageNet").X_train) == 12
    (tree / "train/n01/images/n01_0.JPEG").unlink()
    assert len(load_dataset("TinyImageNet", tree.parent).X_train) == 11


@pytest.mark.parametrize("folder", ["root", "cache/tiny-imagenet-200"])
def test_the_archive_is_read_without_unpacking(tree, tmp_path, folder):
    wanted = load_dataset("TinyImageNet", tree)
    packed = pack(tree.rename(tmp_path / "aside"), tmp_path / folder)
    data = load_dataset("TinyImageNet", tmp_path / "root")
    (tmp_path / "aside").rename(tree)
    assert data.class_names == wanted.class_names
    np.testing.assert_array_equal(np.asarray(data.X_train), np.asarray(wanted.X_train))
    np.testing.assert_array_equal(np.asarray(data.X_test), np.asarray(wanted.X_test))
    np.testing.assert_array_equal(data.y_train, wanted.y_train)
    np.testing.assert_array_equal(data.y_test, wanted.y_test)
    assert data.X_train.digests() == wanted.X_train.digests()
    assert {path.name for path in packed.iterdir()} <= {"tiny-imagenet-200.zip", tree.name}
    assert info().available() == folder.startswith("cache")


def test_a_part_of_the_tree_without_its_list(tree):
    for name in ("wnids.txt", "words.txt"):
        (tree / name).unlink()
    shutil.rmtree(tree / "train/n02")
    for number in (1, 5):
        (tree / f"val/images/val_{number}.JPEG").unlink()
    data = load_dataset("TinyImageNet", tree)
    assert data.class_names == ("n03", "n04")
    assert data.y_train.tolist() == [0, 0, 0, 1, 1, 1] and data.y_test.tolist() == [0, 1, 0, 1]


def test_the_list_of_classes_chooses(tree):
    (tree / "wnids.txt").write_text("n04\nn01")
    data = load_dataset("TinyImageNet", tree)
    assert data.class_names == ("n01", "n04") and data.y_test.tolist() == [0, 1, 0, 1]


def test_listed_classes_must_be_whole(tree):
    shutil.rmtree(tree / "train/n02")
    with pytest.raises(ClsnetError, match=r"lacks training or validation images of n02: put all"):
        load_dataset("TinyImageNet", tree)


def test_missing_and_malformed_annotations(tree):
    annotations = tree / "val/val_annotations.txt"
    annotations.write_text("val_0.JPEG\n")
    with pytest.raises(
        ClsnetError, match=r"a line of val/val_annotations\.txt is not an image and"
    ):
        load_dataset("TinyImageNet", tree)
    annotations.unlink()
    with pytest.raises(ClsnetError, match=r"lacks val/val_annotations\.txt: put all of tiny-ima"):
        load_dataset("TinyImageNet", tree)


def test_an_empty_tree(tree):
    (tree / "wnids.txt").unlink()
    shutil.rmtree(tree / "train")
    (tree / "train").mkdir()
    with pytest.raises(ClsnetError, match="holds no class with training and validation images"):
        load_dataset("TinyImageNet", tree)


def test_what_to_bring_where(tmp_path, cache):
    with pytest.raises(ClsnetError) as caught:
        load_dataset("TinyImageNet", tmp_path / "root")
    message = str(caught.value)
    assert message.startswith(f"Tiny-ImageNet is not in {tmp_path / 'root'} or ")
    assert f"put tiny-imagenet-200.zip into {cache / 'tiny-imagenet-200'}, or name" in message
    assert "\n" not in message and "http" not in message


def test_a_broken_image_is_named_when_it_is_looked_at(tree):
    (tree / "train/n02/images/n02_1.JPEG").write_bytes(b"broken")
    data = load_dataset("TinyImageNet", tree)
    with pytest.raises(ClsnetError, match=r"cannot read the image .*/n02_1\.JPEG: not an image"):
        np.asarray(data.X_train)


def test_sequences_with_base_classes(tree):
    sequence = load_sequence("TinyImageNet-2/2", tree)
    assert sequence.name == "TinyImageNet-2/2"
    for task in sequence.tasks(sequence.order(0, 0)):
        assert isinstance(task.X_train, Images) and task.X_train.shape == (3, 3, 64, 64)
        assert task.X_test.shape == (2, 3, 64, 64)
    X, y, X_test, y_test = sequence.base_data(0)
    assert isinstance(X, Images) and X.shape == (6, 3, 64, 64) and X_test.shape == (4, 3, 64, 64)
    assert sorted(set(y.tolist())) == sorted(set(y_test.tolist())) == [0, 1]


def test_more_classes_than_are_here(tree):
    with pytest.raises(ClsnetError, match="'TinyImageNet-100/10': only 4 classes of TinyImageNet"):
        load_sequence("TinyImageNet-100/10", tree)
