"""The tour's text on a clustering head."""

import pandas as pd
import pytest

from circlet.collections.odonnat.explorer import data


@pytest.mark.parametrize(
    "kind, integers, said",
    [
        ("uniform", [1, 1, 1, 0, 0], "sum of their first tokens"),
        ("signed", [1, -1, 3, 0, 0],
         "weighted sum of their tokens (weights: 1, −1, 3 for the first 3 tokens)"),
        ("distractor", [1, 1, 1, 0, 2],
         "weighted sum of their tokens "
         "(weights: 1, 1, 1 for the first 3 tokens and 2 for token 5)"),
    ],
)  # fmt: skip
def test_it_says_of_which_sum_the_clusters_are(kind, integers, said):
    assert data._sum(pd.Series({"kind": kind, "integers": integers, "k": 3})) == said
