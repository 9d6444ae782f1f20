import pandas as pd
import pytest

from circlet.collections.findings.tables import precision


@pytest.mark.parametrize(
    ("dtype", "residual", "name"),
    [("float64", "exact", "float64 exact"), ("float32", "exact", "float32 exact"),
     ("float32", "cancelling", "float32 cancelling")],
)  # fmt: skip
def test_names_of_arithmetics(dtype, residual, name):
    assert precision.arithmetic(pd.Series({"dtype": dtype, "residual": residual})) == name
