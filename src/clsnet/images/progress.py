"""The callback by which long work reports its progress."""

from collections.abc import Callable

Report = Callable[[str, int, int], None]
"""Progress, in bytes or images: `report(stage, done, total)`; a `total` of 0 is not known yet."""
