"""What the tour says of a clustering head."""

import pandas as pd
import pytest

from circlet.collections.odonnat.explorer import data


@pytest.mark.parametrize(
    "integers, said",
    [([1, 1, 1, 0], ""), ([1, -1, 3, 0], "In this sum the tokens count 1, −1, 3 times. ")],
)
def test_it_says_how_a_head_weighs_tokens(integers, said):
    assert data._weights(pd.Series({"integers": integers, "k": 3})) == said
