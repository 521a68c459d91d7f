import subprocess
import sys
from pathlib import Path

import pytest

from clsnet import __version__, cli
from clsnet.cli.app import app
from clsnet.data import datasets
from clsnet.methods.ewc import EWC
from clsnet.methods.registry import methods

COMMANDS = sorted(command.name or command.callback.__name__ for command in app.registered_commands)

WITHOUT_TORCH = """
import sys
from clsnet.cli import main
sys.argv = ["clsnet", {argument!r}]
try:
    main()
except SystemExit as end:
    print("status", end.code)
print("torch" in sys.modules, "numpy" in sys.modules)
"""


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_what_computes_nothing_imports_no_torch(environment, argument):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH.format(argument=argument)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.stdout.splitlines()[-2:] == ["status 0", "False False"], done.stderr


LISTED = """
import contextlib, io, sys
from clsnet.cli import main
sys.argv = ["clsnet", "methods"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
print(*sys.modules)
"""


def test_listing_methods_imports_none_of_them(environment):
    done = subprocess.run(
        [sys.executable, "-c", LISTED], capture_output=True, text=True, env=environment, check=True
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"torch", "numpy", "sklearn", *(m.module for m in methods().values())}


def test_the_command_is_installed_under_its_name(environment):
    command = Path(sys.executable).with_name("clsnet")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, env=environment)
    assert done.stdout == f"clsnet {__version__}\n"


def test_help_lists_every_command(run_clsnet):
    done = run_clsnet("--help")
    assert done.status == 0
    assert all(f" {name} " in done.out for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(run_clsnet, command):
    done = run_clsnet(command, "--help")
    assert done.status == 0
    after = done.out.split("Example", 1)[1]
    assert f"clsnet {command}" in after


def test_an_empty_argument_is_not_the_folder_one_is_in(run_warm, tmp_path):
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    done = run_warm("learn", "m.clsnet", "", cwd=tmp_path / "photos")
    assert (done.status, done.out) == (2, "")
    assert done.err == "clsnet: one of the arguments is empty: is a variable not set?\n"


def test_ctrl_c_before_a_command_begins_is_no_traceback(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "share_cores", interrupted)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_methods_are_listed(run_warm):
    done = run_warm("methods")
    assert done.status == 0
    for method in methods().values():
        assert method.name in done.out
        assert method.family in done.out


def test_a_method_is_told_with_its_reference_forms_and_options(run_warm):
    done = run_warm("methods", "ewc", "ncm")
    assert done.status == 0
    ewc, ncm = done.out.split("\nncm ")
    assert "Kirkpatrick et al." in ewc
    assert "--backbone NAME --option form=tuned" in " ".join(ewc.split())
    [strength] = [line for line in ewc.splitlines() if line.startswith("strength")]
    assert " ".join(strength.split()) == f"strength {EWC().strength} a number of 0 or more"
    assert "form=tuned" not in ncm
    assert "strength" not in ncm


def test_a_method_that_does_not_exist_is_answered_with_the_nearest(run_warm):
    done = run_warm("methods", "ewc", "rampac")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "clsnet: unknown method 'rampac'; did you mean 'ranpac'? See: clsnet methods\n"
    )


def test_data_sets_are_listed(run_warm):
    done = run_warm("datasets")
    assert done.status == 0
    for info in datasets():
        assert info.name in done.out
        assert f"{info.n_train:,}" in done.out


def test_an_unknown_command_is_named(run_clsnet):
    done = run_clsnet("bensh")
    assert done.status == 2
    assert "bensh" in done.err
    assert "Traceback" not in done.err
