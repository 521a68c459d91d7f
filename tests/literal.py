"""The paper's equations in slow NumPy, term by term, to hold the fast versions against."""

import numpy as np


def one_hot(y, labels):
    return np.array([[float(label == wanted) for wanted in labels] for label in y])


def mean_diagonal(A):
    return (A**2).sum(axis=0).mean()


def declarative_parameters(A, Y, ridge):
    """Eq. (varOmega)."""
    return np.linalg.solve(ridge * np.eye(A.shape[1]) + A.T @ A, A.T @ Y)


def plasticity(A, y, labels, omega, fisher, phantoms):
    """Eq. (myEFIM) for the softmax of A Omega and zeros: F_t by class, and that of a phantom."""
    squares = np.zeros((A.shape[1], len(labels) + phantoms))
    gradient = np.zeros_like(squares)
    for sample, label in zip(A, y, strict=True):
        outputs = np.array([*(sample @ omega), *np.zeros(phantoms)])
        exponentials = np.exp(outputs - outputs.max())
        probabilities = exponentials / exponentials.sum()
        for c in range(len(labels) + phantoms):
            hit = c < len(labels) and labels[c] == label
            gradient_of_sample = (probabilities[c] - hit) * sample
            squares[:, c] += gradient_of_sample**2 / len(y)
            gradient[:, c] += gradient_of_sample / len(y)
    F = squares if fisher == "mean-of-squares" else len(y) * gradient**2
    return F[:, : len(labels)], F[:, -1]


def consolidate(A, y, labels, old, previous, terms, ridge):
    """Eq. (varOmega_cc), class by class.

    `old` holds (gamma, columns by label of F_t, phantom, columns by label of Omega_t) of each old
    task, `previous` the columns by label of Omega_{1:T-1}.
    """
    eye = np.eye(A.shape[1])
    columns = {}
    for c in labels:
        left = A.T @ A
        right = A.T @ one_hot(y, [c])[:, 0]
        if 2 in terms:
            for gamma, F, phantom, omega in old:
                K = np.diag(F.get(c, phantom))
                left = left + gamma * K
                right = right + gamma * K @ omega.get(c, np.zeros(len(eye)))
        if 3 in terms and previous:
            left = left + eye
            right = right + previous.get(c, np.zeros(len(eye)))
        else:
            left = left + ridge * eye
        columns[c] = np.linalg.solve(left, right)
    return columns


def learn_in_turn(tasks, terms, ridge, gammas, fisher, phantoms):
    """Algorithm 1 over tasks (A_t, y_t); the ridge is relative to the mean diagonal of A_t'A_t."""
    known, old, omega = [], [], {}
    for (A, y), gamma in zip(tasks, gammas, strict=True):
        own = sorted(set(y.tolist()))
        known = [*known, *own]
        absolute = ridge * mean_diagonal(A)
        omega = consolidate(A, y, known, old, omega, terms, absolute)
        omega_t = declarative_parameters(A, one_hot(y, own), absolute)
        F, phantom = plasticity(A, y, own, omega_t, fisher, phantoms)
        columns = dict(zip(own, F.T, strict=True)), phantom, dict(zip(own, omega_t.T, strict=True))
        old = [*old, (gamma, *columns)]
    return known, np.stack([omega[c] for c in known], axis=1)


def soft_threshold(a, b):
    """Eq. (admm2) for one number."""
    if a > b:
        return a - b
    if a < -b:
        return a + b
    return 0.0


def lasso_steps(G, Z, alpha, rho, iterations):
    """Eq. (admm1): theta after every step."""
    theta = np.zeros((G.shape[1], Z.shape[1]))
    u = np.zeros_like(theta)
    for _ in range(iterations):
        inverse = np.linalg.inv(rho * np.eye(G.shape[1]) + G.T @ G)
        theta_star = inverse @ (G.T @ Z + rho * (theta - u))
        theta = np.vectorize(soft_threshold)(theta_star + u, alpha / rho)
        u = u + (theta_star - theta)
        yield theta
