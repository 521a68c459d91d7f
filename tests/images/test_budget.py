import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from clsnet.images.budget import Budget


def test_threads_together_never_take_more_than_there_is():
    budget, used, most, lock = Budget(100), [0], [0], threading.Lock()

    def work(n):
        with budget.taken(n):
            with lock:
                used[0] += min(n, 100)
                most[0] = max(most[0], used[0])
            time.sleep(0.001)
            with lock:
                used[0] -= min(n, 100)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, [10, 60, 250, 40, 100, 5] * 10))
    assert 100 >= most[0] >= 65
    assert budget.left == 100


def test_what_fails_gives_back_what_it_took():
    budget = Budget(10)
    with pytest.raises(ValueError, match="broken"), budget.taken(10):
        raise ValueError("broken")
    assert budget.left == 10


def test_who_needs_all_of_it_holds_the_lock_of_all_processes():
    lock = threading.Lock()
    budget = Budget(10, lock)
    with budget.taken(9):
        assert not lock.locked()
    with budget.taken(20):
        assert lock.locked()
