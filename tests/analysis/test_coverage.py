"""How often intervals contain the truth: the committed simulation, and the bounds it states."""

import interval_coverage
import numpy as np
import pandas as pd
import pytest


def test_intervals_cover_as_often_as_stated():
    """No bound is missed by more than four standard errors, so other seeds would pass, too."""
    cases = pd.read_csv(interval_coverage.FILE)
    share = cases["coverage"].clip(upper=1 - 1 / cases["samples"])
    error = np.sqrt(share * (1 - share) / cases["samples"])
    assert len(cases) == 153 and cases[~(share - 4 * error > cases["least"])].empty


@pytest.mark.slow
def test_the_committed_coverage_is_that_of_the_simulation():
    assert interval_coverage.text() == interval_coverage.FILE.read_text(encoding="utf-8")
