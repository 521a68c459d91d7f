def test_a_method_without_a_network_has_no_use_for_a_cache(tmp_path, run_warm):
    command = ("bench", "Digits-10/5", "--method", "ewc", "--option", "epochs=1", "--jobs", 1)
    done = run_warm(*command, "--cache", tmp_path / "kept", "--out", tmp_path / "runs")
    assert done.status == 0, done.err + done.out
    assert not (tmp_path / "kept").exists()
