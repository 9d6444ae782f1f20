"""Ordinary differential equations of the signals, fitted to one run (Ding et al., section 4.2).

With x the signals of all frequencies, the change in a step is modelled as dx/dt = A x + b
(equation 3), by least squares or by Lasso, or with the terms x_i x_j of Lotka and Volterra
(equation 2) by least squares. scikit-learn does the fitting.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.linalg import expm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression

from circlet.analysis import log_frames
from circlet.study.plan import Study

STEPS = 1000  # fitted in the paper; the gradient is negligible afterwards
ALPHA = 0.01  # of the paper's Lasso
METHODS = ("least_squares", "lasso", "quadratic")
# The signals of a run are nearly collinear: the minimum takes about ten thousand iterations at
# alpha = 0.01, and more than this limit at 0.001.
ITERATIONS = 100_000


def dense(signals: pd.DataFrame) -> np.ndarray:
    """Signals in the log of one run at steps 0, 1, 2, ..., (steps + 1, frequencies).

    They end at the last step up to which every step is logged, at most at 1000.
    """
    wide = signals.pivot(index="step", columns="frequency", values="signal").sort_index()
    steps = wide.index.to_numpy()
    unbroken = int((steps == np.arange(len(steps))).cumprod().sum())
    return wide.to_numpy(np.float64)[: min(unbroken, STEPS + 1)]


def enough(x: np.ndarray) -> bool:
    """Whether signals (steps + 1, frequencies) have more steps than a linear fit has unknowns."""
    return len(x) - 1 > x.shape[1] + 1


@dataclass(frozen=True)
class Fit:
    """A fitted law of the change per step."""

    coefficients: np.ndarray  # (frequencies, terms): linear terms first
    intercept: np.ndarray  # (frequencies,)
    converged: bool = True

    @property
    def linear(self) -> bool:
        """Whether the law has linear terms only."""
        return self.coefficients.shape[0] == self.coefficients.shape[1]

    def change(self, x: np.ndarray) -> np.ndarray:
        """Change per step at signals (steps, frequencies), of the same shape."""
        return terms(x, self.linear) @ self.coefficients.T + self.intercept

    @property
    def nonzero(self) -> float:
        """Share of the coefficients that are not zero."""
        return float((self.coefficients != 0).mean())


def terms(x: np.ndarray, linear: bool) -> np.ndarray:
    """Return the features of a law: signals (steps, n), and their products if it is not linear."""
    if linear:
        return x
    i, j = np.triu_indices(x.shape[1])
    return np.hstack([x, x[:, i] * x[:, j]])


def fit(x: np.ndarray, method: str, alpha: float = ALPHA) -> Fit:
    """Fit the changes of signals (steps + 1, frequencies).

    ``least_squares`` and ``lasso`` are linear with intercept, ``quadratic`` is equation 2, without.
    """
    model = {
        "least_squares": lambda: LinearRegression(),
        "lasso": lambda: Lasso(alpha=alpha, max_iter=ITERATIONS, tol=1e-6, precompute=True),
        "quadratic": lambda: LinearRegression(fit_intercept=False),
    }[method]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(terms(x[:-1], method != "quadratic"), np.diff(x, axis=0))
    intercept = np.broadcast_to(model.intercept_, x.shape[1])
    stopped = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return Fit(model.coef_, intercept, converged=not stopped)


def r2(law: Fit, x: np.ndarray) -> float:
    """R^2 of the changes of signals (steps + 1, frequencies), averaged over frequencies.

    Computed as scikit-learn's ``score`` does. A frequency that does not change has no R^2.
    """
    truth = np.diff(x, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        residual = ((truth - law.change(x[:-1])) ** 2).sum(0)
    total = ((truth - truth.mean(0)) ** 2).sum(0)
    return float((1 - residual[total > 0] / total[total > 0]).mean())


def rollout(law: Fit, start: np.ndarray, steps: int) -> np.ndarray:
    """Iterate x <- x + change(x) from x (n,); return (steps + 1, n), NaN where it is not finite."""
    x = np.full((steps + 1, len(start)), np.nan)
    x[0] = start
    with np.errstate(over="ignore", invalid="ignore"):
        for s in range(steps):
            x[s + 1] = x[s] + law.change(x[s : s + 1])[0]
            if not np.isfinite(x[s + 1]).all():
                x[s + 1] = np.nan
                break
    return x


def analytic(law: Fit, start: np.ndarray, steps: int) -> np.ndarray:
    """x(t) = e^(At) x0 + (e^(At) - I) A^-1 b at t = 0..steps (equation 4), (steps + 1, n).

    Computed by the exponential of [[A, b], [0, 0]], which needs no inverse. The paper adds 1e-8
    to the diagonal of its sparse A, whose inverse then has terms of 1e16 and more.
    """
    n = len(start)
    generator = np.zeros((n + 1, n + 1))
    generator[:n, :n], generator[:n, n] = law.coefficients, law.intercept
    step = expm(generator)
    x = np.ones((steps + 1, n + 1))
    x[0, :n] = start
    with np.errstate(over="ignore", invalid="ignore"):
        for s in range(steps):
            x[s + 1] = step @ x[s]
    return x[:, :n]


def error(predicted: np.ndarray, x: np.ndarray) -> float:
    """Return the root mean square error of a rollout; infinite if a value is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = np.sqrt(((predicted - x)[1:] ** 2).mean())
    return float(value) if np.isfinite(value) else np.inf


def runs(study: Study) -> Iterator[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Yield each finished run, its signals (steps + 1, n), and those of its point's other runs."""
    for point in study.points:
        signals: dict[str, np.ndarray] = {}
        for block in point.blocks:
            log = log_frames.finished(block, "signals", range(STEPS + 1))
            signals |= {run_id: dense(rows) for run_id, rows in log.groupby("run_id", sort=False)}
        for run_id, x in signals.items():
            yield run_id, x, [other for name, other in signals.items() if name != run_id]
