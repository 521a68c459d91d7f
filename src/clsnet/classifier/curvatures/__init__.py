"""How much is kept of a task's curvature: all, leading directions, or a diagonal per class."""

from clsnet.classifier.curvatures.base import Trace
from clsnet.classifier.curvatures.diagonal import DiagonalTrace
from clsnet.classifier.curvatures.few_samples import FewSamples, trace_of
from clsnet.classifier.curvatures.full import FullTrace
from clsnet.classifier.curvatures.low_rank import LowRankTrace

CURVATURES: dict[str, type[Trace]] = {
    "full": FullTrace,
    "low-rank": LowRankTrace,
    "diagonal": DiagonalTrace,
}

__all__ = [
    "CURVATURES",
    "DiagonalTrace",
    "FewSamples",
    "FullTrace",
    "LowRankTrace",
    "Trace",
    "trace_of",
]
