from clsnet.data import datasets


def test_names_of_files_are_whole_in_a_narrow_terminal(run_clsnet):
    done = run_clsnet("datasets", COLUMNS="80")
    assert done.status == 0
    assert "…" not in done.out
    last = "".join(line.rsplit("│", 2)[1].strip() for line in done.out.splitlines() if "│" in line)
    for info in datasets():
        assert info.source.replace(" ", "") in last.replace(" ", "")
