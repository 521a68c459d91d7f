"""Try to break what reads files, and write down what became of it.

``python -m tests.fuzz [SECONDS] [ROW ...]``: each row for at most so many seconds, ten minutes if
nothing is said. A row is one key of ``results/security.json``; the others stay as they are.
"""

import json
import sys
from pathlib import Path

from tests.fuzz.rows import ROWS

RESULTS = Path(__file__).parents[2] / "results" / "security.json"


def main(seconds: float, names: list[str]) -> int:
    """Run rows and write their figures; return 1 if one of them is not as it must be."""
    good = True
    for name in names or list(ROWS):
        figures = ROWS[name](seconds)
        good &= figures["as_it_must_be"]
        print(f"{name}: {json.dumps(figures)}", flush=True)
        found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        found[name] = figures
        RESULTS.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(float((sys.argv[1:] or ["600"])[0]), sys.argv[2:]))
