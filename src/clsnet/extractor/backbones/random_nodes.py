"""Random nodes at every place of an image."""

from __future__ import annotations

import numpy as np

from clsnet.extractor.graph import Graph

BIAS = 0.5
LEAST = 1e-3


class RandomNodes:
    """Random ReLU nodes at every place of a map, averaged over the image.

    They tell how often the channels of a map go together, which means over an image do not. What a
    map holds at a place is standardised, so the nodes need no data to be scaled by. They follow
    from the seed on any machine, so they need not be saved.

    Parameters
    ----------
    channels
        Of the map.
    number
        How many nodes.
    seed
        Of their weights and biases.
    """

    def __init__(self, channels: int, number: int, seed: int) -> None:
        self.channels = channels
        self.number = number
        self.seed = seed

    def write(self, graph: Graph, x: str) -> str:
        """Write the nodes into a graph, from a map (n, channels, h, w) to (n, number)."""
        random = np.random.RandomState(self.seed)
        weight = random.standard_normal((self.number, self.channels, 1, 1)) / self.channels**0.5
        bias = random.uniform(-BIAS, BIAS, self.number)
        channels = graph.constant([1])
        x = graph.node("Sub", x, graph.node("ReduceMean", x, channels, keepdims=1))
        square = graph.node("ReduceMean", graph.node("Mul", x, x), channels, keepdims=1)
        least = graph.constant(np.float32(LEAST))
        x = graph.node("Div", x, graph.node("Add", graph.node("Sqrt", square), least))
        weights = (graph.constant(value.astype(np.float32)) for value in (weight, bias))
        x = graph.node("Relu", graph.node("Conv", x, *weights, kernel_shape=[1, 1]))
        return graph.node("ReduceMean", x, graph.constant([2, 3]), keepdims=0)
