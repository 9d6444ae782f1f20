"""What plots of sweeps share."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from circlet.study.swept import Swept
from circlet.sweeps import panels
from circlet.sweeps.plots.forest import _forest
from circlet.systems.spec import Outcome


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0, 0.1, 0.3, 1.0, 3.0), ["0", "", "0.3", "1", "3"]),
        ((0.1, 0.3, 1.0, 3.0, 10.0), ["0.1", "0.3", "1", "3", "10"]),  # on a logarithmic axis
        ((0.0014, 0.001809, 0.02, 0.05), ["0.0014", "", "0.02", "0.05"]),
    ],
)
def test_values_beside_each_other_are_written_where_they_fit(values, texts):
    assert panels._apart(Swept("x", values), side_by_side=True) == texts


def test_colours_have_a_scale_also_of_equal_values_and_of_none():
    ends = {}
    for kind, values in (("count", [0.0, 0.0]), ("count", [6.0]), ("time", []), ("mean", [2.0])):
        norm = panels.shades(Outcome("x", "x", kind), np.array(values))
        ends[kind, len(values)] = (norm.vmin, norm.vmax)
    assert ends == {("count", 2): (0, 1), ("count", 1): (0, 6), ("time", 0): (0, 1),
                    ("mean", 1): (2, 3)}  # fmt: skip
    wide = panels.shades(Outcome("x", "x", "time"), np.array([1.0, np.nan, 100.0]))
    assert wide(10.0) == pytest.approx(0.5)


def test_a_difference_of_which_one_end_is_known_is_drawn_to_an_arrow():
    alike = {"parameter": "rate", "first": "1", "second": "2", "outcome": "x", "label": "x"}
    rows = pd.DataFrame([
        alike | {"at": "d 1", "estimate": None, "low": None, "high": -800.0},
        alike | {"at": "d 2", "estimate": 3.0, "low": 1.0, "high": None},
        alike | {"at": "d 3", "estimate": 3.0, "low": None, "high": None},
    ])  # fmt: skip
    (axes,) = _forest(rows, ["x"]).axes
    (lines,) = (found for found in axes.collections if isinstance(found, LineCollection))
    first, second = (line[:, 0] for line in lines.get_segments() if len(line))
    assert first[0] < -900 and first[1] == -800 and second[0] == 1 and second[1] > 100
    assert not axes.texts
