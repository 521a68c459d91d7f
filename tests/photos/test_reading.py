import numpy as np
from PIL import Image

from clsnet.images.decode import decode
from clsnet.model import Model
from clsnet.photos.reading import BATCH, features, read


def test_photos_come_in_order_and_bad_ones_as_a_line(tmp_path):
    paths = [tmp_path / f"{grey}.png" for grey in range(3 * BATCH)]
    for grey, path in enumerate(paths):
        Image.new("L", (5, 4), grey).save(path)
    paths[7].write_bytes(b"no image")
    found = list(read(paths, 2))
    assert "7.png: not an image" in found[7]
    assert [image[0, 0, 0] for i, image in enumerate(found) if i != 7] == [
        grey for grey in range(3 * BATCH) if grey != 7
    ]


def test_features_are_those_of_the_model(model, january, tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no image")
    paths = [*sorted((january / "square-r").iterdir()), bad, january / "square-b" / "0.png"]
    said = []
    extractor = Model.load(model).extractor
    A, rows, unreadable = features(extractor, paths, 64, lambda *args: said.append(args))
    assert rows == [*range(10), 11]
    assert list(unreadable) == [10]
    expected = extractor.transform(np.stack([decode(paths[i].read_bytes(), 64) for i in rows]))
    np.testing.assert_allclose(A, expected, rtol=1e-5, atol=1e-6)
    assert said == [("reading photos", 12, 12)]
