"""A seeded part of the draws of ``make fuzz``."""

from tests.fuzz import forgotten


def test_models_that_forgot_equal_fresh_ones():
    found = forgotten.measured(draws=12, seconds=60)
    assert found["draws"] == 12
    assert found["answers"] > 5000
    kinds = ("labels", "probabilities", "rejections", "files")
    assert {kind: found[kind] for kind in kinds} == dict.fromkeys(kinds, 0)
