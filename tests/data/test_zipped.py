import pickle
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from clsnet.data import Images
from clsnet.data.zipped import members
from clsnet.errors import ClsnetError

TEXTS = {f"folder/{i}.txt": bytes([i]) * (50 * i) for i in range(60)}


@pytest.fixture(params=[zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def archive(request, tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", request.param) as file:
        file.mkdir("folder")
        for name, text in TEXTS.items():
            file.writestr(name, text)
    return path


def test_members_hold_what_zipfile_reads(archive):
    found = members(archive)
    assert {name: member.read() for name, member in found.items()} == TEXTS
    assert found["folder/3.txt"].name == f"{archive}/folder/3.txt"


def test_members_are_read_by_threads_and_other_processes(archive):
    found = list(pickle.loads(pickle.dumps(members(archive))).values()) * 20
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda member: member.read(), found)) == list(TEXTS.values()) * 20


def test_images_in_an_archive(tmp_path, encoded):
    path = tmp_path / "images.zip"
    with zipfile.ZipFile(path, "w") as file:
        for seed in range(5):
            file.writestr(f"{seed}.jpg", encoded(seed))
    X = Images(list(members(path).values()))
    for seed in range(5):
        (tmp_path / f"{seed}.jpg").write_bytes(encoded(seed))
    loose = Images([tmp_path / f"{seed}.jpg" for seed in range(5)])
    np.testing.assert_array_equal(np.asarray(X), np.asarray(loose))
    assert X.digests() == loose.digests()


def test_damage_is_noticed(archive):
    contents = bytearray(archive.read_bytes())
    found = members(archive)
    last = found["folder/59.txt"]
    contents[last.offset + 50] ^= 1
    archive.write_bytes(contents)
    with pytest.raises(OSError, match=r"damaged|checksum"):
        last.read()
    with pytest.raises(ClsnetError, match=r"cannot read the image .*a\.zip/folder/59\.txt: its"):
        Images([last]).digests()
    archive.write_bytes(bytes(10))
    with pytest.raises(OSError, match="not where the archive says"):
        last.read()


def test_what_is_no_archive(tmp_path):
    path = tmp_path / "a.zip"
    with pytest.raises(ClsnetError, match=r"cannot read .*a\.zip: .*No such file"):
        members(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ClsnetError, match=r"a\.zip: File is not a zip file; replace it"):
        members(path)


def test_rare_compression(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("b", "c" * 100)
    with pytest.raises(ClsnetError, match=r"holds b encrypted or compressed in a rare way"):
        members(path)
