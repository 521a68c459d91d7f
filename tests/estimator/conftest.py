import pytest


@pytest.fixture
def refuses(state_of, assert_same_state):
    """Calls what must fail with one clear line and leave the model as it was."""

    def check(model, reason, call):
        learned = hasattr(model, "classifier_")
        before = state_of(model) if learned else set(vars(model))
        with pytest.raises(ValueError, match=reason) as caught:
            call()
        assert "\n" not in str(caught.value)
        if learned:
            assert_same_state(model, before)
        else:
            assert set(vars(model)) == before

    return check
