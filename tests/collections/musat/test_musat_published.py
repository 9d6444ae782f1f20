"""The published values of Mușat: as printed, complete, and with the paper's conditions."""

import math

import pytest
from conftest import config

from circlet.analysis import claims
from circlet.study import planning

PUBLISHED = claims.read(planning.plan(config() | {"reproduce": {"table1": "e"}}))


PRINTED_1 = """
0.0 0 - 100 18.2 102.2 6.1 -0.92 -0.95 -0.88
0.3 1 77.4 99 34.8 72.7 6.6 -0.90 -0.93 -0.85
0.6 12 65.9 88 51.6 39.6 4.0 -0.84 -0.89 -0.77
1.0 18 60.4 82 46.7 31.6 4.0 -0.64 -0.75 -0.49
"""


PRINTED_2 = """
0.5 0 100 35.5 3.7
1.0 17 83 36.3 4.8
2.0 56 44 42.9 10.1
"""


def printed():
    """Return every cell as (table, row, column) -> published, low, high, n."""
    nan = math.nan
    for line in PRINTED_1.split("\n")[1:-1]:
        decay, circles, accuracy, *rest = (nan if c == "-" else float(c) for c in line.split())
        others, other_accuracy, imperfections, half, r, low, high = rest
        yield from {
            ("table1", decay, "circles"): (circles, nan, nan, 100),
            ("table1", decay, "circle_accuracy"): (accuracy, nan, nan, circles),
            ("table1", decay, "non_circles"): (others, nan, nan, 100),
            ("table1", decay, "non_circle_accuracy"): (other_accuracy, nan, nan, others),
            ("table1", decay, "imperfections"): (
                imperfections, imperfections - half, imperfections + half, others
            ),
            ("table1", decay, "correlation"): (r, low, high, others),
        }.items()  # fmt: skip
    for line in PRINTED_2.split("\n")[1:-1]:
        f_a, circles, grids, imperfections, half = map(float, line.split())
        yield from {
            ("table2", f_a, "circles"): (circles, nan, nan, 100),
            ("table2", f_a, "grids"): (grids, nan, nan, 100),
            ("table2", f_a, "imperfections"): (
                imperfections, imperfections - half, imperfections + half, grids
            ),
        }.items()  # fmt: skip


def test_published_values_are_as_printed():
    """Typed in a second time, in the layout of the paper's tables 1 and 2."""
    cells = PUBLISHED.query("table in ['table1', 'table2']")
    found = {
        (row.table, row.keys["weight_decay" if row.table == "table1" else "f_a"], row.column): (
            row.published, row.published_low, row.published_high, row.published_n,
        )
        for row in cells.itertuples()
        if row.keys["sample"] == "all" and not row.claim.endswith("wd0_circle_accuracy")
    }  # fmt: skip
    expected = {key: values for key, values in printed() if not math.isnan(values[0])}
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert found[key] == pytest.approx(values, nan_ok=True), key
