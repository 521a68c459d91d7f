"""A seeded part of the hostile names of ``make fuzz``."""

import pytest

pytest.importorskip("matplotlib")

from tests.fuzz import hostile_names


def test_no_command_prints_what_a_terminal_or_a_spreadsheet_would_obey():
    found = hostile_names.measured(most=1, seconds=60)
    assert found["commands"] > 20
    assert found["examples"] == []
