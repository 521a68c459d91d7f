import subprocess
import sys

import numpy as np

from clsnet.evaluation.usage import peak_mb

PEAK = "from clsnet.evaluation.usage import peak_mb; print(peak_mb())"


def test_the_peak_stays_when_memory_is_given_back():
    held = np.ones(60_000_000).nbytes / 2**20
    assert peak_mb() >= held


def test_a_process_does_not_inherit_the_peak_of_its_parent():
    large = np.ones(150_000_000)
    done = subprocess.run([sys.executable, "-c", PEAK], check=True, capture_output=True, text=True)
    assert float(done.stdout) < large.nbytes / 2**20
