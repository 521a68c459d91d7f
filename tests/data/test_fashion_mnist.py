import gzip
import hashlib
import os
import shutil
import socket
import struct
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from clsnet.data import datasets, fashion_mnist, load_dataset
from clsnet.errors import ClsnetError

REAL_FILES = fashion_mnist._find()
TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = fashion_mnist.SHA256


def contents(n_train: int = 20, n_test: int = 10) -> dict[str, bytes]:
    def images(n: int) -> bytes:
        values = np.random.default_rng(n).integers(0, 256, n * 28 * 28, np.uint8)
        return struct.pack(">BBBB3I", 0, 0, 8, 3, n, 28, 28) + values.tobytes()

    def labels(n: int) -> bytes:
        return struct.pack(">BBBBI", 0, 0, 8, 1, n) + bytes(i % 10 for i in range(n))

    parts = images(n_train), labels(n_train), images(n_test), labels(n_test)
    return dict(zip(fashion_mnist.SHA256, parts, strict=True))


def put(folder: Path, files: dict[str, bytes], compressed: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        if compressed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(data))
        else:
            (folder / name).write_bytes(data)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty machine: no cache, no Debian folder, no apt-get, no network."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setattr(fashion_mnist, "BASE_URL", f"http://127.0.0.1:{port}/")
    monkeypatch.setattr(fashion_mnist, "DEBIAN_FOLDER", tmp_path / "debian")
    monkeypatch.setenv("CLSNET_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "no-commands"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "cache" / "fashion-mnist"


@pytest.fixture
def server(tmp_path, monkeypatch):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    folder = put(tmp_path / "served", contents())
    handler = partial(Quiet, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setattr(fashion_mnist, "BASE_URL", f"http://127.0.0.1:{server.server_port}/")
        yield folder
        server.shutdown()


@pytest.fixture
def published(monkeypatch):
    """Make the small files the published ones."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in contents().items()}
    monkeypatch.setattr(fashion_mnist, "SHA256", sums)


def fashion_info():
    [info] = [info for info in datasets() if info.name == "FashionMNIST"]
    return info


@pytest.mark.parametrize("compressed", [True, False])
def test_files_in_root(tmp_path, compressed):
    data = load_dataset("FashionMNIST", put(tmp_path / "root", contents(), compressed))
    assert data.name == "FashionMNIST" and len(data.class_names) == 10
    assert data.X_train.shape == (20, 28, 28) and data.X_test.shape == (10, 28, 28)
    assert data.X_train.dtype == np.uint8 and data.y_train.dtype == np.int64
    assert data.y_test.tolist() == list(range(10))
    assert data.X_train.tobytes() == contents()[TRAIN_IMAGES][16:]


def test_folders_are_looked_into_in_order(tmp_path, cache):
    def n_train(root=None):
        return len(load_dataset("FashionMNIST", root).X_train)

    assert not fashion_info().available()
    put(fashion_mnist.DEBIAN_FOLDER, contents(n_train=11))
    assert fashion_info().available()
    assert n_train() == 11
    assert n_train(tmp_path / "nothing-here") == 11
    put(cache, contents(n_train=12))
    assert n_train() == 12
    assert n_train(put(tmp_path / "root", contents(n_train=13))) == 13


def test_cache_folder_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("CLSNET_DATA")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    put(tmp_path / "home/.cache/clsnet/fashion-mnist", contents(n_train=11))
    assert len(load_dataset("FashionMNIST").X_train) == 11
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    put(tmp_path / "xdg/clsnet/fashion-mnist", contents(n_train=12))
    assert len(load_dataset("FashionMNIST").X_train) == 12


def test_incomplete_root_names_what_is_missing(tmp_path, cache):
    put(cache, contents())
    root = put(tmp_path / "root", contents())
    (root / f"{TEST_LABELS}.gz").unlink()
    with pytest.raises(ClsnetError, match=f"root lacks a readable {TEST_LABELS} "):
        load_dataset("FashionMNIST", root)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        (TRAIN_IMAGES, contents()[TRAIN_IMAGES][:-1], "need 15,680 bytes of values, 15,679 found"),
        (TEST_IMAGES, contents()[TEST_LABELS], "shape .10,., not 28x28 uint8 images"),
        (TRAIN_LABELS, contents()[TEST_LABELS], "shape .10,., not 20 uint8 labels"),
        (TEST_LABELS, contents()[TEST_LABELS][:-1] + b"\x0a", "holds the label 10"),
    ],
)
def test_malformed_files_are_named(tmp_path, name, data, reason):
    root = put(tmp_path / "root", {**contents(), name: data})
    with pytest.raises(ClsnetError, match=f"{name}.gz .*{reason}"):
        load_dataset("FashionMNIST", root)


def test_download_into_the_cache(cache, server, published):
    steps = []
    data = load_dataset("FashionMNIST", report=lambda *step: steps.append(step))
    assert len(data.X_train) == 20
    assert sorted(path.name for path in cache.iterdir()) == sorted(
        f"{name}.gz" for name in fashion_mnist.SHA256
    )
    for name in fashion_mnist.SHA256:
        size = (server / f"{name}.gz").stat().st_size
        progress = [(done, total) for stage, done, total in steps if stage == f"{name}.gz"]
        assert progress[0] == (0, size) and progress[-1] == (size, size)


def test_a_second_load_downloads_nothing(cache, server, published):
    load_dataset("FashionMNIST")
    for path in server.iterdir():
        path.unlink()
    steps = []
    load_dataset("FashionMNIST", report=lambda *step: steps.append(step))
    assert not steps


def test_checksum_ignores_how_the_file_was_compressed(cache, server, published):
    path = server / f"{TRAIN_IMAGES}.gz"
    path.write_bytes(gzip.compress(contents()[TRAIN_IMAGES], compresslevel=1, mtime=1))
    assert len(load_dataset("FashionMNIST").X_train) == 20


def test_nothing_is_kept_of_a_download_with_the_wrong_checksum(cache, server, published):
    put(server, {TEST_LABELS: contents()[TEST_LABELS][:-1] + b"\0"})
    with pytest.raises(ClsnetError, match=f"the {TEST_LABELS}.gz fetched has SHA-256 "):
        load_dataset("FashionMNIST")
    assert list(cache.iterdir()) == []


def test_nothing_is_kept_of_a_truncated_download(cache, server, published):
    path = server / f"{TEST_LABELS}.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ClsnetError, match=f"the {TEST_LABELS}.gz fetched is unusable"):
        load_dataset("FashionMNIST")
    assert list(cache.iterdir()) == []


def test_a_file_missing_on_the_server(cache, server, published):
    (server / f"{TEST_LABELS}.gz").unlink()
    with pytest.raises(ClsnetError, match=f"/{TEST_LABELS}.gz: HTTP Error 404"):
        load_dataset("FashionMNIST")
    assert list(cache.iterdir()) == []


def test_no_route_lists_every_attempt_and_the_way_by_hand(tmp_path, cache):
    with pytest.raises(ClsnetError) as caught:
        load_dataset("FashionMNIST", tmp_path / "root")
    message = str(caught.value)
    assert "\n" not in message
    assert f"not in {tmp_path / 'root'}, {cache}, {fashion_mnist.DEBIAN_FOLDER}" in message
    assert "Debian package dataset-fashion-mnist: this machine has no apt-get" in message
    assert f"{fashion_mnist.BASE_URL}{TRAIN_IMAGES}.gz: " in message
    assert "Connection refused" in message
    assert message.endswith(f"{TEST_LABELS}.gz into {cache} by hand")


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(ClsnetError, match=r"cannot keep Fashion-MNIST in .*: set CLSNET_DATA"):
        load_dataset("FashionMNIST")


@pytest.fixture
def apt_repository(tmp_path, monkeypatch):
    """A real package in a repository on disk, and an apt that knows no other."""
    monkeypatch.setenv("PATH", os.defpath)
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("no apt-get and dpkg-deb here")
    home = tmp_path / "apt"
    put(home / "package/usr/share/datasets/fashion-mnist", contents())
    control = (
        "Package: dataset-fashion-mnist\nVersion: 1\nArchitecture: all\n"
        "Maintainer: clsnet <clsnet@localhost>\nDescription: a few images\n"
    )
    (home / "package/DEBIAN").mkdir()
    (home / "package/DEBIAN/control").write_text(control)
    for folder in ("repository", "state/lists/partial", "cache/archives/partial"):
        (home / folder).mkdir(parents=True)
    deb = home / "repository/package.deb"
    subprocess.run(["dpkg-deb", "-b", home / "package", deb], check=True, capture_output=True)
    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    (home / "repository/Packages").write_text(
        f"{control}Filename: ./package.deb\nSize: {deb.stat().st_size}\nSHA256: {digest}\n"
    )
    (home / "sources.list").write_text(f"deb [trusted=yes] file:{home}/repository ./\n")
    (home / "status").touch()
    (home / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{home}/sources.list";\nDir::Etc::sourceparts "-";\n'
        f'Dir::State "{home}/state";\nDir::State::status "{home}/status";\n'
        f'Dir::Cache "{home}/cache";\nAPT::Sandbox::User "root";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(home / "apt.conf"))
    return home


def apt_update():
    subprocess.run(["apt-get", "update"], check=True, capture_output=True)


def test_debian_package_is_unpacked_into_the_cache(cache, apt_repository, published):
    apt_update()
    steps = []
    assert len(load_dataset("FashionMNIST", report=lambda *step: steps.append(step)).X_train) == 20
    assert len(list(cache.iterdir())) == 4
    size = (apt_repository / "repository/package.deb").stat().st_size
    assert steps == [
        ("Debian package dataset-fashion-mnist", 0, 0),
        ("Debian package dataset-fashion-mnist", size, size),
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may update apt's lists")
def test_root_updates_outdated_lists(apt_repository, published):
    assert len(load_dataset("FashionMNIST").X_train) == 20


def test_debian_package_with_the_wrong_checksum_gives_way_to_the_download(
    cache, apt_repository, server
):
    apt_update()
    with pytest.raises(ClsnetError) as caught:
        load_dataset("FashionMNIST")
    for route in ("Debian package dataset-fashion-mnist", "download"):
        assert f"{route}: the {TRAIN_IMAGES}.gz fetched has SHA-256" in str(caught.value)
    assert list(cache.iterdir()) == []


def test_unknown_debian_package_gives_apts_reason(apt_repository, monkeypatch):
    monkeypatch.setattr(fashion_mnist, "DEBIAN_PACKAGE", "no-such-package")
    with pytest.raises(
        ClsnetError, match="Unable to locate package no-such-package; download: http"
    ):
        load_dataset("FashionMNIST")


@pytest.mark.skipif(REAL_FILES is None, reason="Fashion-MNIST is not on this machine")
def test_the_real_data_set():
    data = load_dataset("FashionMNIST", REAL_FILES[TRAIN_IMAGES].parent)
    assert data.X_train.shape == (60000, 28, 28) and data.X_test.shape == (10000, 28, 28)
    assert np.bincount(data.y_train).tolist() == [6000] * 10
    assert np.bincount(data.y_test).tolist() == [1000] * 10
