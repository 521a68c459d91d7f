import pytest

from clsnet.cli.console import PlainConsole
from clsnet.cli.skipped import tell_skipped


@pytest.fixture
def told(capsys):
    def printed(*lines):
        tell_skipped(PlainConsole(), lines)
        return capsys.readouterr().out

    return printed


def test_each_is_named_on_a_line_and_all_are_counted(told):
    lines = "cannot read the image [red]/a.png: no image", "cannot read the image b.png: no image"
    assert told(*lines).splitlines() == [*lines, "2 unreadable images are left out."]
    assert told("one").splitlines() == ["one", "1 unreadable image is left out."]
    assert told() == ""


def test_any_name_can_be_printed(told):
    assert told("cannot read \udcff\n.png").splitlines()[0] == "cannot read ��.png"
