"""Gross errors change a verdict, except for the listed ones."""

import planted_errors as planting
import pytest

pytestmark = pytest.mark.slow

# Gross errors that are not noticed, and why.
UNNOTICED = {
    "only the more accurate half of runs kept": "blurred: the scorecard says that half of the "
    "planned runs are missing",
    "accuracies divided by 100 in the experiment initialisations": "no claim is about other "
    "initialisations: their p-values are in a table that the scorecard does not read",
    "all embeddings of the experiment higher_dimensions are circles": "no "
    "claim is about more than two dimensions",
    "weight decay has no effect on the weights": "blurred: the ratio is 1 for all seeds, and what "
    "is the same for all has no interval, so that it decides nothing",
    "network weights: sums instead of means": "claims about weights are ratios: a factor drops out",
    "accuracies shuffled in the experiment seed_effects": "blurred: without an "
    "effect, the interval reaches from 0 beyond the threshold",
    "the two causes of spikes swapped": "the claim is undecided with the true ones, too",
    "the same gradient at all steps": "blurred: the ratio is 1 for all runs, which has no interval",
}


@pytest.mark.parametrize(
    "error",
    [error for error in planting.ERRORS if error.size == planting.G],
    ids=lambda error: f"{error.study}: {error.name}",
)
@pytest.mark.filterwarnings("ignore")  # nonsense may divide by zero
def test_a_gross_error_is_noticed(error):
    outcome, _ = planting.verdict(*planting.planted(error))
    assert (outcome == planting.NOTICED) != (error.name in UNNOTICED)
