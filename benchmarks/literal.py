"""The paper's algorithm as the paper writes it down: NumPy, one pseudo-inverse per class."""

from __future__ import annotations

import numpy as np

from clsnet.data import Task

RHO = 2.0**-30
ALPHA = 0.01
PHANTOMS = 1


def soft_threshold(a: np.ndarray, b: float) -> np.ndarray:
    """Eq. (admm2)."""
    return np.where(a > b, a - b, np.where(a < -b, a + b, 0.0))


class LiteralExtractor:
    """Subnetwork I of the text: n groups of k nodes, tuned by ADMM on the first task."""

    def __init__(
        self, seed: int, groups: int = 30, size: int = 30, with_inputs: bool = True
    ) -> None:
        self.random = np.random.RandomState(seed)
        self.groups, self.size, self.with_inputs = groups, size, with_inputs

    def _inputs(self, X: np.ndarray) -> np.ndarray:
        Z = X.reshape(len(X), -1) / 255.0
        return np.hstack([Z, np.ones((len(Z), 1))])

    def fit(self, X: np.ndarray) -> LiteralExtractor:
        """Tune every group to the samples."""
        Z = self._inputs(X)
        self.maps = []
        for _ in range(self.groups):
            W = self.random.uniform(-1, 1, (Z.shape[1], self.size))
            G = Z @ W  # Eq. (Gi)
            inverse = np.linalg.inv(np.eye(self.size) + G.T @ G)
            theta = np.zeros((self.size, Z.shape[1]))
            u = np.zeros_like(theta)
            for _ in range(50):  # Eq. (admm1)
                theta_star = inverse @ (G.T @ Z + (theta - u))
                theta = soft_threshold(theta_star + u, ALPHA)
                u = u + theta_star - theta
            self.maps.append(theta.T)
        return self

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return A."""
        Z = self._inputs(X)
        nodes = np.hstack([np.maximum(Z @ W, 0) for W in self.maps])
        return np.hstack([Z, nodes]) if self.with_inputs else nodes


def literal_run(tasks: list[Task], extractor: LiteralExtractor, gamma: float) -> list[float]:
    """Learn all tasks by Eq. (varOmega_cc); return the accuracy on each at the end."""
    seen: list[int] = []
    omega = np.zeros((0, 0))
    memory: list[tuple[list[int], np.ndarray, np.ndarray, np.ndarray]] = []
    accuracies: list[float] = []
    for number, task in enumerate(tasks):
        if number == 0:
            extractor.fit(task.X_train)
        A = extractor(task.X_train)
        own = list(task.classes)
        Y = (task.y_train[:, None] == np.array(own)).astype(float)
        gram = A.T @ A
        declarative = np.linalg.pinv(RHO * np.eye(len(gram)) + gram) @ (A.T @ Y)  # Eq. (varOmega)
        previous = np.zeros((len(gram), len(seen) + len(own)))
        if seen:
            previous[:, : len(seen)] = omega
        seen = seen + own
        if number == 0:
            omega = declarative
        else:
            columns = []
            for c, label in enumerate(seen):
                K, pull = np.zeros(len(gram)), np.zeros(len(gram))
                for classes, omega_t, F, phantom in memory:
                    if label in classes:
                        i = classes.index(label)
                        K, pull = K + gamma * F[:, i], pull + gamma * F[:, i] * omega_t[:, i]
                    else:
                        K = K + gamma * phantom
                y = (task.y_train == label).astype(float)
                inverse = np.linalg.pinv(gram + np.diag(K) + np.eye(len(gram)))
                columns.append(inverse @ (A.T @ y + pull + previous[:, c]))  # Eq. (varOmega_cc)
            omega = np.stack(columns, axis=1)
        logits = np.hstack([A @ declarative, np.zeros((len(A), PHANTOMS))])
        error = np.exp(logits - logits.max(axis=1, keepdims=True))
        error /= error.sum(axis=1, keepdims=True)
        error[:, : len(own)] -= Y
        F = (A**2).T @ error**2 / len(A)  # Eq. (myEFIM)
        memory.append((own, declarative, F[:, : len(own)], F[:, len(own)]))
        accuracies = []
        for past in tasks[: number + 1]:
            answers = np.array(seen)[(extractor(past.X_test) @ omega).argmax(axis=1)]
            accuracies.append(float(np.mean(answers == past.y_test)))
    return accuracies
