"""The paper's per-class systems, all at once, over one factorisation for each class."""

from __future__ import annotations

from typing import Any

from clsnet.arrays.devices import Array, namespace
from clsnet.arrays.linalg import cholesky, diagonal, double, norms, solve_by_factor
from clsnet.classifier import solvers
from clsnet.classifier.curvatures.plasticity import plasticity
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.rule import regress
from clsnet.classifier.solvers import System, solve_per_class
from clsnet.classifier.sums import RunningSums
from timing import DEVICE, GPU, alternating, features, ratio

SIZE, CLASSES, ROWS = 5_000, 100, 6_000
FACTORISED = 100 if GPU else 4  # classes that are factorised and timed, of CLASSES
GAMMA = 1e4


def system(
    size: int = SIZE, n_classes: int = CLASSES, rows: int = ROWS, gamma: float = GAMMA
) -> System:
    """Return the system of the second of two tasks, with the plasticity of the first."""
    A, y = features(rows, size, n_classes)
    seen = RunningSums(size, DEVICE).add(A, y)
    equations = NormalEquations(seen.gram, seen.cross(range(n_classes)), rows)
    omega = regress(equations, 1e-2).omega
    F, _ = plasticity([(A, y)], list(range(n_classes)), omega)
    shared = namespace(A).asarray(equations.gram, copy=True)
    own = diagonal(shared)
    own += 1.0
    return System(shared, equations.cross + gamma * F * omega, gamma * F)


def run() -> dict[str, Any]:
    problem = system()
    some = slice(0, FACTORISED)

    answers: dict[str, Array] = {}

    def together() -> None:
        answers["together"] = problem.solve()[:, some]

    def each() -> None:
        answers["each"] = solve_per_class(
            problem.shared, problem.diagonal[:, some], problem.rhs[:, some]
        )

    times = alternating({"together": together, "each": each}, rounds=3, warm=GPU)
    speedup = ratio(times["each"], times["together"]) * CLASSES / FACTORISED
    expected, found = answers["each"], answers["together"]
    difference = float((norms(found - expected) / norms(expected)).max())
    print(
        f"per-class systems, D = {SIZE}, C = {CLASSES}: {speedup:.1f}x, differ by {difference:.1e}"
    )
    return {
        "per_class_solver_speedup": speedup,
        "per_class_solver_difference": difference,
        "per_class_factorised": FACTORISED,
        "solver_costs": costs(),
    }


def costs(size: int = 2_000) -> dict[str, float]:
    """Measure the constants of `clsnet.classifier.solvers.iterating_pays`."""
    A, _ = features(3_000, size)
    G = double(A.T @ A)
    factor = cholesky(G, 1.0)

    def step(n_classes: int) -> None:
        solve_by_factor(factor, G @ G[:, :n_classes])

    runs = {str(c): (lambda c=c: step(c)) for c in (10, 50, 200)}
    times = alternating({"factorise": lambda: cholesky(G, 1.0), **runs}, rounds=5)
    best = {name: min(values) for name, values in times.items()}
    per_column = (best["200"] - best["50"]) / 150
    per_operation = best["factorise"] / (size**3 / 3)
    return {
        "step_cost": per_column / (4 * size**2) / per_operation,
        "free_columns": max(best["50"] / per_column - 50, 0.0),
        "steps": max(steps(system(500, 20, 2_000, gamma)) for gamma in (1e2, 1e4, 1e6, 1e8)),
    }


def steps(problem: System) -> int:
    """Count the steps of conjugate gradients."""
    n_steps = 0

    def counted(lower: Array, rhs: Array) -> Array:
        nonlocal n_steps
        n_steps += 1
        return solve_by_factor(lower, rhs)

    solvers.solve_by_factor = counted
    try:
        solvers.solve_by_conjugate_gradients(problem.shared, problem.diagonal, problem.rhs)
    finally:
        solvers.solve_by_factor = solve_by_factor
    return n_steps - 3  # for the first guess, its residual and the check


def plot(found: dict[str, Any], draw: Any) -> None:
    draw.bars(
        "per_class",
        f"Per-class systems, D = {SIZE}, C = {CLASSES}: times faster than one factorisation each",
        {"one each": 1.0, "all at once": found["per_class_solver_speedup"]},
        reference=5.0,
    )


if __name__ == "__main__":
    print(costs())
