"""How often intervals contain the truth: the committed simulation, and the bounds it states."""

import math

import interval_coverage
import pandas as pd
import pytest


def test_intervals_cover_as_often_as_stated():
    """No bound is missed by more than four standard errors, so other seeds would pass, too."""
    for case in pd.read_csv(interval_coverage.FILE).itertuples():
        share = min(case.coverage, 1 - 1 / case.samples)
        error = math.sqrt(share * (1 - share) / case.samples)
        assert share - 4 * error > case.least, (case.method, case.population, case.n)


@pytest.mark.slow
def test_the_committed_coverage_is_that_of_the_simulation():
    assert interval_coverage.text() == interval_coverage.FILE.read_text(encoding="utf-8")
