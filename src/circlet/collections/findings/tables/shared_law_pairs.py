"""Table ``shared_law_pairs``: variance that pair interactions explain beyond the mean field.

Terms of pairs and triples of frequencies are added to all mean-field terms. The table has the share
of the mean field's residual that they explain on runs that were not fitted, and the same share if
the frequencies of each run are relabelled at random: that keeps all signals, their moments and
their time course, but not which frequency is the double of which.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from circlet.analysis import log_frames
from circlet.collections.findings import shared_laws
from circlet.storage.schema import COUNTS, POINT, column
from circlet.study.plan import Study

OPTIONAL_ROLES = ("shared_law", "shared_law_elsewhere")
LOGS = ("runs", "signals")
TABLES = ()
COLUMNS = [
    POINT,
    column("first_step", pa.int32(), "of the window"),
    column("last_step", pa.int32(), "after the window"),
    column("pairs", pa.string(), "which terms were added"),
    column("memory", pa.bool_(), "whether the law has the last change, too"),
    column("gain", pa.float64(), "share of the squares left that they explain; < 0: overfitted"),
    column("chance", pa.float64(), "mean of the same with names by chance"),
    column("chance_high", pa.float64(), "97.5 % point of the same"),
    column("p_value", pa.float64(), "share of names by chance that gain as much; at least 1/(n+1)"),
    column("n_permutations", pa.int32(), "how often names were given by chance"),
    *COUNTS,
]
_PERMUTATIONS = 99
_STEPS = 25  # steps of a window that are used: neighbouring steps are redundant


def _self_sums(s: np.ndarray) -> np.ndarray:
    """sum_(a + b = k) x_a x_b over all a, b mod p, x_0 = 0 and x_(-a) = x_a; (steps, n)."""
    n = s.shape[1]
    extended = np.concatenate([np.zeros((len(s), 1)), s, s[:, ::-1]], axis=1)
    return np.fft.ifft(np.fft.fft(extended, axis=1) ** 2, axis=1).real[:, 1 : n + 1]


def ratios(s: np.ndarray) -> np.ndarray:
    """Return the signals of k / r for r = 2..n: a pair of frequencies for each ratio."""
    return shared_laws.ratio_terms(s)[..., 1:]


def ratio_products(s: np.ndarray) -> np.ndarray:
    """Return `ratios` times the signal of k, divided by the mean signal."""
    return (s / s.mean(-1, keepdims=True))[..., None] * ratios(s)


def doubles(s: np.ndarray) -> np.ndarray:
    """Return the signals of k / 2 and 2 k, and both times the signal of k over the mean."""
    all_ratios = shared_laws.ratio_terms(s)
    # 1 / 2 mod p is n + 1, which up to sign is n.
    relative = (s / s.mean(-1, keepdims=True))[..., None]
    pair = all_ratios[..., [1, s.shape[1] - 1]]
    return np.concatenate([pair, relative * pair], axis=-1)


def triples(s: np.ndarray) -> np.ndarray:
    """Return sum_(a + b = k) x_a x_b over the mean signal, and that times x_k over the mean."""
    m = s.mean(-1, keepdims=True)
    pair_sums = _self_sums(s) / m
    return np.stack([pair_sums, pair_sums * s / m], axis=-1)


_PAIRS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ratios": ratios,
    "products by ratio": ratio_products,
    "doubles": doubles,
    "sums": triples,
}


def gains(runs: list[tuple[np.ndarray, ...]], fitted: int, names: list[str]) -> dict[str, float]:
    """Return the share of the mean field's residual that each set of terms explains.

    ``runs`` have signals, last changes and changes (steps, n); those after ``fitted`` are scored.
    """
    base = shared_laws.mean_field(names)

    def design(s: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.concatenate([base.design(s, v), *(terms(s) for terms in _PAIRS.values())], -1)

    parts = [shared_laws.sums(shared_laws.Form(design, ()), *run) for run in runs]
    train, test = (shared_laws.total(some) for some in (parts[:fitted], parts[fitted:]))
    step = runs[0][0][:1]
    ends = np.cumsum([len(names), *(terms(step).shape[-1] for terms in _PAIRS.values())])

    def left(first: int, end: int) -> float:
        columns = [*range(len(names)), *range(first, end)]
        return test.chosen(columns).error(train.chosen(columns).solve())

    without = left(0, 0)
    return {
        name: 1 - left(first, end) / without
        for name, (first, end) in zip(_PAIRS, pairwise(ends.tolist()), strict=True)
    }


def table(study: Study) -> Iterator[dict]:
    """Yield a row per point of the role `shared_law`, window, terms, with and without memory."""
    for point, fitted, scored in shared_laws.halves(study, "shared_law"):
        stream = np.random.default_rng(0)
        for window in shared_laws.windows(len(fitted[0]) - 1):
            stride = max(1, (window[1] - window[0]) // _STEPS)
            runs = [
                tuple(part[::stride] for part in shared_laws.inside(x, window))
                for x in fitted + scored
            ]
            for memory in (False, True):
                names = [*shared_laws.TERMS, *(shared_laws.MEMORY if memory else ())]
                true = gains(runs, len(fitted), names)
                chance = []
                for _ in range(_PERMUTATIONS):
                    orders = [stream.permutation(run[0].shape[1]) for run in runs]
                    renamed = [tuple(part[:, order] for part in run)
                               for run, order in zip(runs, orders, strict=True)]  # fmt: skip
                    chance.append(gains(renamed, len(fitted), names))
                for name, gain in true.items():
                    null = np.array([draw[name] for draw in chance])
                    yield {
                        **log_frames.keys(point, study),
                        "point": point.name,
                        "first_step": window[0],
                        "last_step": window[1],
                        "pairs": name,
                        "memory": memory,
                        "gain": gain,
                        "chance": float(null.mean()),
                        "chance_high": float(np.quantile(null, 0.975)),
                        "p_value": (1 + int((null >= gain).sum())) / (1 + len(null)),
                        "n_permutations": len(null),
                        "n_runs": len(runs),
                        "n_planned": point.count,
                    }
