import io

import pytest
from rich.console import Console

from clsnet.cli.bars import bars


@pytest.mark.parametrize(("hours", "left"), [(1, 2), (10, 20)])
def test_many_hours_are_shown_whole_in_a_narrow_terminal(hours, left):
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    progress = bars(console)
    clock = [0.0]
    progress.get_time = lambda: clock[0]
    said = "loss 5.125, accuracy 0.250, held-out 0.375"
    epoch = progress.add_task("epoch 10 of 60", total=3600 * left + 10, said=said)
    clock[0] = 3600 * hours - 9
    for _ in range(10):  # one unit a second
        progress.advance(epoch)
        clock[0] += 1
    console.print(progress.get_renderable())
    assert f"{said} {hours}:00:01 {left}:00:00" in console.file.getvalue()
