"""A seeded part of what ``make fuzz`` kills."""

import random

from tests.fuzz import killed_commands, killed_writes


def test_what_is_killed_while_it_writes_leaves_nothing_after_purging():
    chance = random.Random(0)
    found = killed_writes.measured(lambda n: sorted(chance.sample(range(n), 6)))
    assert (found["wrong"], found["examples"]) == (0, [])
    assert set(found["kills"].values()) == {6}


def test_a_sort_killed_at_any_moment_loses_no_photo():
    found = killed_commands.measured({killed_commands.kill_sorts: 3}, seconds=60)
    assert (found["lost"], found["examples"]) == (0, [])
    assert sum(found["kills"].values()) > 0


def test_commands_killed_at_any_moment_lose_no_model():
    found = killed_commands.measured({killed_commands.kill_models: 2}, seconds=60)
    assert (found["lost"], found["examples"]) == (0, [])
    assert sum(found["kills"].values()) > 0
