import threading
import time

import pytest
import scipy.linalg
from threadpoolctl import ThreadpoolController

from clsnet.extractor.parallel import in_threads


@pytest.fixture(params=["1", "4"], ids=["one thread", "four threads"])
def threads(request, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", request.param)
    return int(request.param)


assert scipy.linalg  # with a BLAS of its own
BLAS = ThreadpoolController().select(user_api="blas")


def blas_threads():
    return {pool["num_threads"] for pool in BLAS.info()}


def test_every_block_is_worked_on_once(threads):
    done = []
    in_threads(done.append, range(50))
    assert sorted(done) == list(range(50))


def test_no_block_is_no_work(threads):
    in_threads(lambda block: 1 / 0, [])


def test_there_are_as_many_threads_as_asked_for(threads):
    used = set()

    def work(block):
        used.add(threading.get_ident())
        time.sleep(0.01)

    in_threads(work, range(20))
    assert len(used) == threads
    assert (threading.get_ident() in used) == (threads == 1)


def test_an_error_is_raised_and_the_limit_is_lifted(threads):
    with BLAS.limit(limits=2):
        before = blas_threads()
        with pytest.raises(ZeroDivisionError):
            in_threads(lambda block: 1 / block, range(-3, 3))
        assert blas_threads() == before


@pytest.mark.parametrize("first", ["main", "other"])
def test_blas_has_one_thread_whichever_thread_calls(threads, first):
    within = []

    def user():
        in_threads(lambda block: within.append(blas_threads()), range(3))

    with BLAS.limit(limits=2):
        before = blas_threads()
        for caller in (first, "other", "main", "other"):
            if caller == "main":
                user()
            else:
                thread = threading.Thread(target=user, daemon=True)
                thread.start()
                thread.join(60)
            assert blas_threads() == before
    assert within == [{1}] * 12


def test_calls_take_turns(threads):
    active, most, lock = 0, 0, threading.Lock()

    def work(block):
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        time.sleep(0.001)
        with lock:
            active -= 1

    callers = [
        threading.Thread(target=in_threads, args=(work, range(10)), daemon=True) for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert 1 <= most <= threads and active == 0
