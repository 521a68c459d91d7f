import subprocess
import sys

import numpy as np

from clsnet.evaluation import usage
from clsnet.evaluation.usage import peak_mb

PEAK = "from clsnet.evaluation.usage import peak_mb; print(peak_mb())"


def test_the_peak_stays_when_memory_is_given_back():
    held = np.ones(60_000_000).nbytes / 2**20
    assert peak_mb() >= held


def test_a_process_does_not_inherit_the_peak_of_its_parent():
    large = np.ones(150_000_000)
    done = subprocess.run([sys.executable, "-c", PEAK], check=True, capture_output=True, text=True)
    assert float(done.stdout) < large.nbytes / 2**20


def test_elsewhere_than_on_linux_psutil_tells_it(tmp_path):
    """In a process of its own, which has never held much more than now."""
    code = "\n".join(
        [
            "from pathlib import Path",
            "from clsnet.evaluation import usage",
            "here = usage.peak_mb()",
            f"usage.LINUX_STATUS = Path({str(tmp_path / 'nothing')!r})",
            "assert 0.5 * here < usage.peak_mb() <= here + 10, (here, usage.peak_mb())",
        ]
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_status_without_a_peak_is_no_mistake(monkeypatch, tmp_path):
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmRSS:\t 5 kB\n")
    monkeypatch.setattr(usage, "LINUX_STATUS", status)
    assert peak_mb() > 1


def test_measuring_imports_neither_torch_nor_what_windows_lacks():
    code = f"import sys; sys.modules['resource'] = None\n{PEAK}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
