"""Step 0 of 100,000 starts of circlet and the released code: initial_states.csv is their result.

    python tests/collections/odonnat/test_initial_states.py FILE.csv  # writes it

Claims about step 0 depend on the distribution of the initial weights alone. The released code draws
from a global stream per seed: the table of the MLP first, then E, P, q and W_V.
"""

import math
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import ks_2samp

from circlet.analysis import stats
from circlet.collections.odonnat import clusters
from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.collections.odonnat.systems.sparse_transformer import SYSTEM
from circlet.collections.odonnat.tables import heads, odonnat_claims
from circlet.study import claims_file, registry
from circlet.study.seeds import Seeds

DEFAULTS = SYSTEM.defaults
P, D, K, LENGTH = (DEFAULTS[name] for name in ("p", "d", "k", "length"))
NAMES = ("embedding", "position", "query", "value.weight")


def of_circlet(seed):
    start = system.initial(DEFAULTS, Seeds(seed, seed, 0, 0))
    return [start[name] for name in NAMES]


def of_released_code(seed):
    torch.default_generator.manual_seed(seed)
    torch.rand(2048, 2 * D + 2)
    normal = [torch.randn(DEFAULTS["vocabulary"], D), torch.randn(LENGTH, D)]
    uniform = [(2 * torch.rand(n, D) - 1) / math.sqrt(D) for n in (1, D)]
    return [array.double().numpy() for array in normal + uniform]


CODES = {"circlet": of_circlet, "released code": of_released_code}


def measures(embedding, position, query, value):
    """rho_suffix and the distractors' attention of many networks, from all sequences.

    xi is a ratio of sums over positions, so sums over all prefixes and all suffixes suffice.
    """
    e = embedding[:, :P, None] + position[:, None]
    z = e / (np.sqrt((e**2).mean(3, keepdims=True)) + system.EPS)
    weight = np.exp(z @ query[:, None].swapaxes(2, 3) / math.sqrt(D))  # (networks, p, length, 1)
    terms = np.concatenate([weight, weight * (z @ value[:, None].swapaxes(2, 3))], 3)

    def sums(positions):
        tokens = np.indices((P,) * len(positions)).reshape(len(positions), -1)
        return sum(terms[:, token, t] for token, t in zip(tokens, positions, strict=True))

    suffix = sums(range(K, LENGTH))[:, None]
    whole = sums(range(K))[:, :, None] + suffix  # (networks, prefixes, suffixes, 1 + d)
    xi = whole[..., 1:] / whole[..., :1]
    within, total = xi.var(2).mean(1).sum(1), xi.var((1, 2)).sum(1)
    return within / total, (suffix[..., 0] / whole[..., 0]).mean((1, 2))


def simulated(code, n=100_000, together=50):  # few enough for the processor's caches
    parts = [
        measures(*map(np.stack, zip(*map(CODES[code], range(i, i + together)), strict=True)))
        for i in range(0, n, together)
    ]
    return np.concatenate(parts, 1)


def table():
    """Return ``as_far``: share of groups of the published size whose median is as far off.

    ``gap``: the largest difference between the two codes' cumulative distributions.
    """
    of = next(c for c in registry.SHIPPED if c.name == "odonnat")
    claims = {c.claim.removeprefix("odonnat_"): c for c in claims_file.claims(of)}
    by_code = {code: simulated(code) for code in CODES}
    rows = []
    for i, name in enumerate(("suffix_initial", "attention_initial")):
        published, n = (claims[name].published, claims[name].published_n)
        gap = ks_2samp(*(values[i] for values in by_code.values()), method="asymp").statistic
        for code, values in by_code.items():
            median = stats.median(values[i])
            off = np.abs(np.median(values[i].reshape(-1, int(n)), 1) - median.value)
            as_far = (off >= abs(published - median.value)).mean()
            row = {"claim": name, "code": code, **median.columns("median")}
            rows.append({**row, "as_far": as_far, "gap": gap})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("code", CODES)
def test_measures_are_those_of_heads(code):
    arrays = [np.stack(a) for a in zip(*map(CODES[code], range(40)), strict=True)]
    weights = {n: torch.as_tensor(a) for n, a in zip(NAMES, arrays, strict=True)}
    of = clusters.probes(P, LENGTH, K)
    prefixes = torch.as_tensor(of.classes["suffix"])[None]
    rho, attention = measures(*arrays)
    expected = clusters.variance_ratio(clusters.embed(weights, of, P), prefixes)
    np.testing.assert_allclose(rho, expected, rtol=1e-4)
    expected = heads.distractor_attention(weights, of, P, K)
    np.testing.assert_allclose(attention, expected, rtol=1e-4)


@pytest.mark.slow
def test_the_file_is_what_the_codes_give():
    committed = odonnat_claims.initial_states().reset_index()
    pd.testing.assert_frame_equal(table(), committed, check_exact=False, atol=1e-6, rtol=0)


if __name__ == "__main__":
    table().to_csv(sys.argv[1], index=False, float_format="%.6f", lineterminator="\n")
