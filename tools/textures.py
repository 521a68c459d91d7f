"""Measure what textures are usual for photos, and write it into the package.

python tools/textures.py DIR

DIR holds photos of many kinds: those of Tiny-ImageNet for validation. Only means and directions of
all of them together are kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from clsnet.extractor.backbones.convolution import Map
from clsnet.extractor.backbones.efficientnet_lite import (
    FIRST_TAPPED_STAGE,
    TEXTURED_STAGE,
    EfficientNetLite,
    TappedLite,
)
from clsnet.extractor.backbones.textures import (
    CHANNELS,
    DIRECTIONS,
    SHIPPED,
    upper,
    write_roots,
)
from clsnet.extractor.graph import Graph
from clsnet.extractor.runtime.graph_runtime import GraphRuntime
from clsnet.images import Images
from clsnet.storage.tensors import as_bytes

PHOTOS = 3000
FEWER = 1000  # of them
BATCH = 100
EVEN = 0.3  # of the mean variance, added to each


def seen(network: EfficientNetLite, paths: list[Path], channels: np.ndarray | None) -> np.ndarray:
    """Return products of the channels of each map, or roots once `channels` are known."""
    tapped = network._tapped[network.size]
    assert isinstance(tapped, TappedLite)

    def write(graph: Graph, images: str) -> str:
        maps = tapped.write_maps(graph, Map(images, 3, network.size))
        x = maps[TEXTURED_STAGE - FIRST_TAPPED_STAGE]
        if channels is not None:
            return graph.node("Flatten", write_roots(graph, x, channels), axis=1)
        shape = graph.constant(np.array([-1, x.channels, x.side**2], np.int64))
        places = graph.node("Reshape", x.value, shape)
        turned = graph.node("Transpose", places, perm=[0, 2, 1])
        return graph.node("Flatten", graph.node("MatMul", places, turned), axis=1)

    run, images = GraphRuntime(write, network.size), Images(paths, network.size)
    starts = range(0, len(paths), BATCH)
    found = np.concatenate(
        [run(network.normalised(images[start : start + BATCH])) for start in starts]
    )
    width = round(found.shape[1] ** 0.5)
    return found.astype(float).reshape(len(found), width, width)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    photos = sorted(parser.parse_args().folder.rglob("*.JPEG"))
    photos = photos[:: max(1, len(photos) // PHOTOS)][:PHOTOS]
    network = EfficientNetLite("last", views=1)
    products = seen(network, photos[:: PHOTOS // FEWER], None).mean(axis=0)
    channels = np.linalg.eigh(products)[1][:, ::-1][:, :CHANNELS].T
    values = upper(seen(network, photos, channels))
    usual = values.mean(axis=0)
    variances, vectors = np.linalg.eigh(np.cov(values.T))
    variances, vectors = np.maximum(variances[::-1], 0), vectors[:, ::-1]
    directions = (vectors / np.sqrt(variances + EVEN * variances.mean()))[:, :DIRECTIONS]
    size = np.sqrt((((values - usual) @ directions) ** 2).sum(axis=1).mean())
    arrays = {"channels": channels, "usual": usual, "directions": directions / size}
    # in the order of C: others are written as if they were in it
    kept = {
        f"{network.name}.textures.{name}": array.astype(np.float16, order="C")
        for name, array in arrays.items()
    }
    SHIPPED.write_bytes(as_bytes(kept, {}))


if __name__ == "__main__":
    main()
