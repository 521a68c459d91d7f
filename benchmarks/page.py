"""The tables of docs/speed.md, from result files: ``python benchmarks/page.py``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/speed.md"
FIGURES = {
    "gram_rate_over_full_product": "rate of Gram matrices, products in float32, over a full "
    "product",
    "gram_rate_over_full_product_float64": "the same, products in float64",
    "per_class_solver_speedup": "per-class systems, D = 5,000, C = 100: times faster than one "
    "factorisation each",
    "per_class_solver_difference": "relative difference of their answers",
    "small_task_over_fresh_solve": "a task of 100 samples, D = 10,000, over a fresh solution",
    "small_task_over_one_factorisation": "the same over one factorisation with a known ridge",
    "small_task_difference": "relative difference of their weights",
    "small_fit_over_forest_iris": "`CLSNet().fit` on iris over `RandomForestClassifier().fit`",
    "small_fit_over_forest_wine": "the same on wine",
    "few_samples_over_gram": "the first 100 samples, D = 10,000, over a solution by their Gram "
    "matrix",
    "few_samples_difference": "relative difference of their weights",
    "ten_tasks_over_ridge_classifier": "ten tasks over `RidgeClassifier` once, float64",
    "ten_tasks_over_ridge_classifier_float32": "the same, `RidgeClassifier` in float32",
    "ten_tasks_with_weights_after_each_over_ridge_classifier": "ten tasks with weights after each "
    "one, over `RidgeClassifier` once",
    "cached_ten_tasks_s": "ten tasks of 50,000 x 5,000 features on disk, 100 classes: seconds",
    "cached_ten_tasks_float32_s": "the same, products in float32: seconds",
    "cached_ten_tasks_over_product": "the same in float64, over one plain product of that size",
    "tasks_exponent": "growth of time with the number of tasks: exponent",
    "stream_memory_ratio": "peak memory of ten times the data, from a generator",
    "fast_over_literal": "`--preset fast` over the paper's algorithm written literally",
    "two_ranks_speedup": "two processes of one thread each: times as fast as one",
}


def number(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.1e}" if value and abs(value) < 1e-2 else f"{value:.3g}"


def table(rows: list[list[str]]) -> str:
    head, *body = ["| " + " | ".join(row) + " |\n" for row in rows]
    return head + "|---" + "|--:" * (len(rows[0]) - 1) + "|\n" + "".join(body)


def figures(machines: dict[str, dict[str, Any]]) -> str:
    rows = [["", *machines]]
    for key, title in FIGURES.items():
        rows.append([title, *(number(found.get(key)) for found in machines.values())])
    return table(rows)


def precision(found: dict[str, Any]) -> str:
    columns = {
        "time_over_float64": "time over float64",
        "positive_definite": "can be factorised",
        "accuracy": "accuracy",
        "scores_off_float64": "scores off float64, at most",
        "scores_off_in_reverse_order": "scores off in reverse order, at most",
    }
    rows = [["products in", *columns.values()]]
    for name, row in found["precision"].items():
        rows.append([name, *(number(row.get(key)) for key in columns)])
    return table(rows)


def fill() -> None:
    results = {"cpu": "two cores", "h200": "one H200"}
    machines = {
        title: json.loads(path.read_text())
        for name, title in results.items()
        if (path := ROOT / "results/bench" / f"{name}.json").exists()
    }
    text = PAGE.read_text()
    blocks = {"figures": figures(machines)}
    blocks |= {
        f"precision, {title}": precision(m) for title, m in machines.items() if "precision" in m
    }
    for name, block in blocks.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = pattern.sub(lambda m, block=block: m[1] + block + m[2], text)
    PAGE.write_text(text)


if __name__ == "__main__":
    fill()
