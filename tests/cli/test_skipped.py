import io

from rich.console import Console

from clsnet.cli.skipped import tell_skipped


def told(*lines):
    console = Console(file=io.TextIOWrapper(io.BytesIO(), "utf-8", "strict"), width=40)
    tell_skipped(console, lines)
    console.file.flush()
    return console.file.buffer.getvalue().decode()


def test_each_is_named_on_a_line_and_all_are_counted():
    lines = "cannot read the image [red]/a.png: no image", "cannot read the image b.png: no image"
    assert told(*lines).splitlines() == [*lines, "2 unreadable images are left out."]
    assert told("one").splitlines() == ["one", "1 unreadable image is left out."]
    assert told() == ""


def test_any_name_can_be_printed():
    assert told("cannot read \udcff\n.png").splitlines()[0] == "cannot read ��.png"
