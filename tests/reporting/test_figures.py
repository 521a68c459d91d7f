import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from clsnet.evaluation.store import read_run
from clsnet.reporting.labels import spread

SVG = "{http://www.w3.org/2000/svg}"


def _words(report: Path, name: str) -> list[str]:
    root = ET.parse(report.with_name("report_files") / f"fashionmnist-10-5-{name}.svg")
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


def test_a_heat_map_shows_the_matrix_averaged_over_orders(report: Path, folder: Path) -> None:
    runs = [read_run(path)["R"] for path in folder.glob("ours/*/5/clsnet/*.json")]
    means = [sum(run[i][t] for run in runs) / 3 for i in range(5) for t in range(i + 1)]
    words = _words(report, "matrix-1")
    cells = [word for word in words if word.isdigit() and int(word) > 5]  # the others are tasks
    assert cells == [f"{100 * mean:.0f}" for mean in means]
    assert {f"mean {sum(means[-5:]) / 5:.4f}", "clsnet, fast"} <= set(words)


def test_forgetting_is_accuracy_when_learned_less_accuracy_at_the_end(
    report: Path, folder: Path
) -> None:
    R = read_run(folder / "leaking/FashionMNIST-10/5/clsnet-demo/0.json")["R"]
    lost = [f"{100 * (R[t][t] - R[4][t]):.1f}" for t in range(4)]
    text = (report.with_name("report_files") / "fashionmnist-10-5-forgetting.svg").read_text()
    assert f"clsnet-demo, LEAKING protocol: {', '.join(lost)}." in text


@pytest.mark.parametrize("name", ["accuracy", "memory", "time", "forgetting"])
def test_every_method_is_labelled_in_every_figure(report: Path, name: str) -> None:
    words = _words(report, name)
    for method in ("clsnet, fast", "clsnet-demo, LEAKING", "clsnet-paper, tuned"):
        assert words.count(method) == 1


@pytest.mark.parametrize("name", ["accuracy", "memory", "time", "forgetting", "matrix-1"])
def test_files_stand_alone_with_their_alternative_text(report: Path, name: str) -> None:
    path = report.with_name("report_files") / f"fashionmnist-10-5-{name}.svg"
    root = ET.parse(path).getroot()
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert all(child.text for child in list(root)[:2])
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_points_tell_their_figures_to_a_resting_pointer(report: Path) -> None:
    text = (report.with_name("report_files") / "fashionmnist-10-5-memory.svg").read_text()
    assert "<title>clsnet, fast: 7.5 MB, 0.9" in text
    assert "<title>OWM, as published: 11.65, 0.8012</title>" in text


def test_forgetting_of_a_single_task_is_not_drawn(report: Path) -> None:
    names = {path.name for path in report.with_name("report_files").iterdir()}
    assert "digits-10-1-accuracy.svg" in names
    assert "digits-10-1-forgetting.svg" not in names


def test_crowded_labels_keep_their_distance_their_order_and_the_frame() -> None:
    moved = spread([0.99, 0.98, 0.97, 0.2], gap=0.05, low=0.0, high=1.0)
    assert moved[3] == pytest.approx(0.2)
    assert moved[:3] == pytest.approx([1.0, 0.95, 0.90])
