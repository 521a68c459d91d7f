import os
import subprocess
import sys
import threading

import numpy as np
import scipy.linalg
from threadpoolctl import ThreadpoolController

from clsnet.arrays.blas import one_blas_thread

assert scipy.linalg  # with a BLAS of its own
BLAS = ThreadpoolController().select(user_api="blas")


def threads():
    return {pool["num_threads"] for pool in BLAS.info()}


def test_both_libraries_have_one_thread_until_the_last_user_is_done():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(60)

    with BLAS.limit(limits=2):
        before = threads()
        thread = threading.Thread(target=other, daemon=True)
        with one_blas_thread(), one_blas_thread():
            assert threads() == {1}
            thread.start()
            inside.wait(60)
        assert threads() == {1}  # the other user began later and goes on
        leave.set()
        thread.join(60)
        assert threads() == before


def test_products_round_alike_whatever_the_number_of_threads():
    a = np.random.RandomState(0).standard_normal((300, 700))
    found = []
    for n in (1, 2, 4):
        with BLAS.limit(limits=n), one_blas_thread():
            found.append(a @ a.T)
    assert all((one == found[0]).all() for one in found)


ORDER = """
import sys
import numpy
from threadpoolctl import ThreadpoolController
from clsnet.arrays.blas import one_blas_thread

def threads():
    return {pool["num_threads"] for pool in ThreadpoolController().select(user_api="blas").info()}

with one_blas_thread(scipy=False):
    assert threads() == {1} and "scipy" not in sys.modules
    with one_blas_thread():
        assert threads() == {1} and "scipy.linalg" in sys.modules
    assert threads() == {1}
assert threads() == {2}
"""


def test_a_library_that_is_loaded_between_is_limited_too():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", ORDER], check=True, env=environment)
