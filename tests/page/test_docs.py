"""The examples of docs/page.md, as they stand."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.page.running import Running

TOKEN = "0123456789abcdef"
TEXT = (Path(__file__).parents[2] / "docs" / "page.md").read_text()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_examples_with_curl_work(colours, tmp_path, photos):
    pytest.importorskip("onnx")
    model = Path(shutil.copy(colours / "m.clsnet", tmp_path / "pets.clsnet"))
    shutil.copy(model, tmp_path / "other.clsnet")
    places = {"cat": "red", "dog": "green", "rabbit": "blue"}
    for name, colour in places.items():
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number, photo in enumerate(photos(colour)[:2], start=1):
            shutil.copy(photo, tmp_path / "photos" / name / f"{number}.jpg")
    (tmp_path / "token.txt").write_text(TOKEN)
    words = ("--teach", "--token-file", tmp_path / "token.txt")
    [block] = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
    lines = [line for line in block.splitlines() if line.startswith("curl")]
    assert len(lines) == 10
    with Running("serve", model, *words, token=TOKEN) as served:
        cats = sorted((tmp_path / "photos" / "cat").iterdir())
        assert served.post("learn", cats, **{"class": "cat"})[0] == 200
        answers = []
        for line in lines:
            done = subprocess.run(
                line.replace(":8000", f":{served.port}"),
                shell=True,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            )
            answers.append(json.loads(done.stdout) if done.stdout else {})
    assert [answer["error"] for answer in answers if "error" in answer] == []
    predicted, learned, corrected, forgotten, photo, undone, merged, info, *_ = answers
    assert [one["name"] for one in predicted["answers"]] == ["1.jpg", "1.jpg"]
    assert (learned["learned"], corrected["learned"]) == (2, 1)
    assert (forgotten["forgotten"], photo["photos"]) == (["rabbit"], 1)
    assert undone["undone"].startswith("Undone: forgot 1 photo")
    assert (merged["shared"], info["model"]) == (24, "pets.clsnet")
    assert (tmp_path / "copy.clsnet").read_bytes() == model.read_bytes()
    assert (tmp_path / "pets.onnx").stat().st_size > 1000
