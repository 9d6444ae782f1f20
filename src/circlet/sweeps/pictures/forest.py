"""Each row is a setting: the difference of an outcome between the second value and the first, as
the mean over runs with the same seed (for steps, the median), with its 95 % interval; an arrow
marks an end that is not known. Intervals that exclude zero are dark.
"""

from matplotlib.figure import Figure

from circlet.plotting.panels import nothing
from circlet.study.plan import Study
from circlet.sweeps import panels
from circlet.sweeps.panels import Sweep

TABLES = ("comparisons",)
CONFIG = ("milestones", "measures")
PLACES = ()
POOLS = True


def draw(study: Study) -> Figure:
    """A column for each outcome, a row for each comparison and setting of the others."""
    sweep = Sweep(study)
    rows = sweep.rows("comparisons")
    if rows.empty or not rows["n_first"].any():
        return nothing("no finished runs to compare")
    return panels.forest(rows, [*sweep.picture.show])
