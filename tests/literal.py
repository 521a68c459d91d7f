"""The paper's equations in slow NumPy, term by term, to hold the fast versions against."""

import numpy as np
import scipy.optimize
import scipy.stats


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


def temperature(A, y, labels, omega, ridge, weights=None):
    """Where telling apart pairs of classes has the least log loss on samples left out.

    Class means of scores lose what a sample of mean leverage adds to them, deviations grow as in
    generalised cross-validation, and differences of scores follow Student's t distribution.
    """
    weights = np.ones(len(A)) if weights is None else weights
    inverse = np.linalg.inv(ridge * np.eye(A.shape[1]) + A.T @ (weights[:, None] * A))
    sizes = np.array([weights[y == label].sum() for label in labels])
    centres = np.stack([np.average(A[y == c], axis=0, weights=weights[y == c]) for c in labels])
    around = A - centres[[labels.index(label) for label in y]]
    df = weights @ ((A @ inverse) * A).sum(axis=1)
    pooled = weights @ ((around @ inverse) * around).sum(axis=1) / sizes.sum()
    deviation = np.sqrt(weights)[:, None] * (around @ omega) / (1 - df / sizes.sum())
    x = np.sinh(np.linspace(-8, 8, 2001))
    density = scipy.stats.t(3, scale=3**-0.5).pdf(x) * np.gradient(x)

    def loss(log_temperature):
        total = 0.0
        for c, centre in enumerate(centres):
            leverage = centre @ inverse @ centre + pooled
            scores = (centre @ omega - leverage * np.eye(len(labels))[c]) / (1 - leverage)
            for other in range(len(labels)):
                spread = np.sqrt(((deviation[:, c] - deviation[:, other]) ** 2).sum() / sizes.sum())
                margins = (scores[c] - scores[other] + spread * x) / np.exp(log_temperature)
                total += sizes[c] * (density @ np.logaddexp(0, -margins)) * (c != other)
        return total

    bounds = np.log([0.005, 1.0])
    return np.exp(scipy.optimize.minimize_scalar(loss, bounds=bounds, method="bounded").x)
