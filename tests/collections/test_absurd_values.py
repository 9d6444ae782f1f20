"""Absurd values that an earlier scorecard accepted, and no claim may agree with again."""

import pytest
from conftest import ROOT

from circlet.analysis import claims, contrasts, stats, verdicts
from circlet.analysis.stats import Estimate
from circlet.study import planning
from circlet.sweeps.tables import scorecard

CLAIMS = claims.read(planning.plan_file(ROOT / "config/paper.yaml")).set_index("claim", drop=False)
NO_DIFFERENCE = Estimate(0.0, -0.3, 0.3, 8)


@pytest.mark.parametrize(
    ("name", "absurd", "rival"),
    [
        ("odonnat_curriculum_barrier", Estimate(1000, 900, 1100, 8), None),
        ("odonnat_wide_scratch_accuracy", Estimate(0.0, 0.0, 0.31, 8), None),
        # Two more successes in eight: Fisher's p is a third.
        ("odonnat_curriculum_helps", contrasts.share_difference(4, 8, 2, 8).times(100), None),
        ("odonnat_transfer_of_solved", stats.count(40, 40), None),
        # Always answering "dies" is as accurate.
        ("ding_svm_accuracy", Estimate(83.8, 83, 84.6, 40), Estimate(83.6, 82.5, 84.7, 40)),
        # All survive without weight decay, but also at 0.1.
        ("ding_no_decay_all_survive", NO_DIFFERENCE, None),
        ("ding_dead_revive", Estimate(0.0, 0.0, 0.01, 50), None),  # no circle ever revives
        ("ding_dead_revive", Estimate(1.0, 0.99, 1.0, 50), None),  # one revives in every run
        ("ding_first_survives", stats.share(90, 100), None),
        ("ding_first_survives", stats.share(4, 4), None),  # four draws only
        ("ding_quadratic_is_unstable", stats.share(4, 4), None),
        ("ding_lasso_fit", Estimate(0.22, 0.2, 0.24, 10), None),  # an R² of 0.78, compared with 1
        ("ding_signal_correlation_50", Estimate(-0.85, -0.9, -0.8, 10), None),
    ],
)
def test_absurd_values_do_not_agree(name, absurd, rival):
    judgement = scorecard.judged(CLAIMS.loc[name], absurd, rival)
    assert judgement["verdict"] in (*verdicts.DISAGREES, *verdicts.OPEN)
