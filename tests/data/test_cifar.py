import io
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest

from clsnet.data import datasets, load_dataset, load_sequence
from clsnet.data.cifar import CIFAR_10, CIFAR_100, Cifar
from clsnet.errors import ClsnetError

pytestmark = pytest.mark.usefixtures("cache")
both = pytest.mark.parametrize("cifar", [CIFAR_10, CIFAR_100], ids=lambda cifar: cifar.name)
editions = pytest.mark.parametrize("number", [0, 1], ids=["python", "binary"])


def part(n: int, n_classes: int) -> tuple[np.ndarray, list[int], list[int]]:
    """Pixels, fine and coarse labels."""
    pixels = np.random.default_rng(n).integers(0, 256, (n, 3072), np.uint8)
    return pixels, [(7 * i + 1) % n_classes for i in range(n)], [i % 20 for i in range(n)]


def names(cifar: Cifar) -> list[str]:
    return [f"thing_{i}" for i in range(cifar.n_classes)]


def contents(cifar: Cifar, number: int, protocol: int = 2) -> dict[str, bytes]:
    """The files of one edition, as they are published: ten training images a file."""
    edition = cifar.editions[number]
    files = {}
    for i, name in enumerate((*edition.train, edition.test)):
        pixels, fine, coarse = part(10 + i, cifar.n_classes)
        if number == 0:
            batch = {
                b"data": pixels,
                cifar.labels.encode(): fine,
                b"filenames": ["a.png"] * len(fine),
            }
            if cifar is CIFAR_100:
                batch[b"coarse_labels"] = coarse
            files[name] = pickle.dumps(batch, protocol)
        else:
            labels = [coarse, fine] if cifar is CIFAR_100 else [fine]
            rows = np.column_stack([*np.array(labels, np.uint8), pixels])
            files[name] = rows.tobytes()
    if number == 0:
        files[edition.names] = pickle.dumps({cifar.label_names: names(cifar)}, protocol)
    else:
        files[edition.names] = ("\n".join(names(cifar)) + "\n\n").encode()
    return files


def unpacked(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def packed(folder: Path, cifar: Cifar, number: int, files: dict[str, bytes] | None = None) -> Path:
    edition = cifar.editions[number]
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / edition.archive, "w:gz") as tar:
        for name, data in {"readme.html": b"hello", **(files or contents(cifar, number))}.items():
            info = tarfile.TarInfo(f"{edition.folder}/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return folder


def check(data, cifar: Cifar) -> None:
    parts = [part(10 + i, cifar.n_classes) for i in range(len(cifar.editions[0].train) + 1)]
    *train, test = [(pixels.reshape(-1, 3, 32, 32), fine) for pixels, fine, _ in parts]
    np.testing.assert_array_equal(data.X_train, np.concatenate([pixels for pixels, _ in train]))
    np.testing.assert_array_equal(data.y_train, np.concatenate([fine for _, fine in train]))
    np.testing.assert_array_equal(data.X_test, test[0])
    np.testing.assert_array_equal(data.y_test, test[1])
    assert data.X_train.dtype == data.X_test.dtype == np.uint8
    assert data.y_train.dtype == data.y_test.dtype == np.int64
    assert data.name == cifar.name and data.class_names == tuple(names(cifar))


@both
@editions
def test_archive_and_folder_in_root(tmp_path, cifar, number):
    files, folder = contents(cifar, number), cifar.editions[number].folder
    check(load_dataset(cifar.name, packed(tmp_path / "packed", cifar, number)), cifar)
    check(load_dataset(cifar.name, unpacked(tmp_path / "in it", files)), cifar)
    unpacked(tmp_path / "above it" / folder, files)
    check(load_dataset(cifar.name, tmp_path / "above it"), cifar)


@both
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_pickles_of_every_age(tmp_path, cifar, protocol):
    files = contents(cifar, 0, protocol)
    check(load_dataset(cifar.name, unpacked(tmp_path, files)), cifar)


@both
@editions
def test_the_cache_is_looked_into(cache, cifar, number):
    [info] = [info for info in datasets() if info.name == cifar.name]
    assert not info.available() and not info.fetchable
    packed(cache / cifar.name.lower(), cifar, number)
    assert info.available()
    check(load_dataset(cifar.name), cifar)


@both
def test_what_to_bring_where(tmp_path, cache, cifar):
    with pytest.raises(ClsnetError) as caught:
        load_dataset(cifar.name, tmp_path / "root")
    message, small = str(caught.value), cifar.name.lower()
    assert message.startswith(f"{cifar.name} is not in {tmp_path / 'root'} or {cache / small}: ")
    assert f"put {small}-python.tar.gz or {small}-binary.tar.gz into {cache / small}" in message
    assert "\n" not in message


@both
@editions
def test_a_missing_file_is_named(tmp_path, cifar, number):
    files = contents(cifar, number)
    del files[cifar.editions[number].test]
    archive = cifar.editions[number].archive
    for root in (unpacked(tmp_path / "a", files), packed(tmp_path / "b", cifar, number, files)):
        with pytest.raises(
            ClsnetError, match=f"lacks {cifar.editions[number].test}: put all files of {archive}"
        ):
            load_dataset(cifar.name, root)


@both
@editions
def test_a_damaged_archive(tmp_path, cifar, number):
    archive = packed(tmp_path, cifar, number) / cifar.editions[number].archive
    whole = archive.read_bytes()
    for damaged in (
        whole[: len(whole) // 2],
        b"",
        b"nothing",
        whole[:99] + bytes(99) + whole[198:],
    ):
        archive.write_bytes(damaged)
        with pytest.raises(ClsnetError, match=rf"{archive.name}: .*; replace it by a good copy"):
            load_dataset(cifar.name, tmp_path)


def pickled(**values) -> bytes:
    return pickle.dumps(values, 2)


PIXELS = np.zeros((2, 3072), np.uint8)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pickled(data=PIXELS), "lacks data or fine_labels"),
        (pickled(fine_labels=[1, 2]), "lacks data or fine_labels"),
        (pickled(data=[1], fine_labels=[1]), "lacks data or fine_labels"),
        (pickled(data=PIXELS, fine_labels=["a", "b"]), "lacks data or fine_labels"),
        (pickled(data=PIXELS, fine_labels=[1, [2]]), "lacks data or fine_labels"),
        (pickled(data=PIXELS, fine_labels=[1]), r"1 labels and data of shape \(2, 3072\)"),
        (pickled(data=PIXELS[:, :9], fine_labels=[1, 2]), r"2 labels and data of shape \(2, 9\)"),
        (pickled(data=PIXELS, fine_labels=[1, 100]), "labels are not 0 to 99"),
        (pickled(data=PIXELS, fine_labels=[1, -1]), "labels are not 0 to 99"),
        (pickle.dumps([1, 2]), "a batch of images: it does not hold a dictionary"),
        (b"", "a batch of images: "),
    ],
)
def test_malformed_batches_are_named(tmp_path, data, reason):
    root = unpacked(tmp_path, {**contents(CIFAR_100, 0), "train": data})
    with pytest.raises(ClsnetError, match=f"/train is not .*{reason}.*; replace it"):
        load_dataset("CIFAR-100", root)


def test_malformed_binary_batches_are_named(tmp_path):
    files = contents(CIFAR_10, 1)
    root = unpacked(tmp_path, {**files, "data_batch_3.bin": files["data_batch_3.bin"][:-1]})
    with pytest.raises(ClsnetError, match=r"/data_batch_3\.bin .* bytes are no rows of 3073"):
        load_dataset("CIFAR-10", root)
    unpacked(tmp_path, {**files, "test_batch.bin": bytes([10]) * 3073})
    with pytest.raises(ClsnetError, match=r"/test_batch\.bin .*labels are not 0 to 9;"):
        load_dataset("CIFAR-10", root)


@both
@editions
def test_all_classes_must_have_names(tmp_path, cifar, number):
    few = b"a b c" if number else pickle.dumps({cifar.label_names: ["a", "b", "c"]})
    root = unpacked(tmp_path, {**contents(cifar, number), cifar.editions[number].names: few})
    with pytest.raises(ClsnetError, match=f"does not name {cifar.n_classes} classes"):
        load_dataset(cifar.name, root)


def test_a_malicious_batch_runs_nothing(tmp_path):
    class Malicious:
        def __reduce__(self):
            return Path.touch, (tmp_path / "made",)

    root = unpacked(tmp_path / "root", contents(CIFAR_10, 0))
    (root / "data_batch_2").write_bytes(pickle.dumps({b"data": Malicious(), b"labels": []}, 2))
    with pytest.raises(ClsnetError, match=r"/data_batch_2 .*to be run; replace it") as caught:
        load_dataset("CIFAR-10", root)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("name", "canonical", "dataset", "n_classes"),
    [
        ("CIFAR-10/5", "CIFAR-10/5", "CIFAR-10", 10),
        ("cifar-100/10", "CIFAR-100/10", "CIFAR-100", 100),
        ("CIFAR-100-100/10", "CIFAR-100/10", "CIFAR-100", 100),
        ("CIFAR-100-50/5", "CIFAR-100-50/5", "CIFAR-100", 50),
        ("CIFAR-100-10/5", "CIFAR-100-10/5", "CIFAR-100", 10),
        ("CIFAR-10-4/2", "CIFAR-10-4/2", "CIFAR-10", 4),
    ],
)
def test_sequences(tmp_path, name, canonical, dataset, n_classes):
    for cifar in (CIFAR_10, CIFAR_100):
        packed(tmp_path, cifar, 1)
    sequence = load_sequence(name, tmp_path)
    assert sequence.name == canonical and sequence.dataset.name == dataset
    assert sequence.n_classes == n_classes == sum(map(len, sequence.order(0, 0)))
    assert load_sequence(sequence.name, tmp_path).name == canonical


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("CIFAR-50/5", "unknown data set 'CIFAR': the nearest is 'CIFAR-10'"),
        ("CIFAR-10-20/5", "'CIFAR-10-20/5': CIFAR-10 has only 10 classes"),
        ("CIFAR-100/101", "100 classes are too few for 101 tasks"),
    ],
)
def test_sequences_that_cannot_be(name, reason):
    with pytest.raises(ClsnetError, match=reason):
        load_sequence(name)
