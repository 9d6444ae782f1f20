"""Columns that the tables of circles and grids share (Mușat, tables 1 and 2)."""

import pyarrow as pa

from circlet.storage.schema import COUNTS, column, estimate

SAMPLE = column("sample", pa.string(), "first_100 (as many as the paper has) or all seeds")

STRUCTURE = [
    *estimate("circles", "runs that end as circles"),
    *estimate("circle_accuracy", "mean validation accuracy of circles", "%"),
    *estimate("non_circles", "runs that do not"),
    *estimate("non_circle_accuracy", "mean validation accuracy of non-circles", "%"),
    *estimate("imperfections", "mean imperfections of non-circles"),
    *estimate("correlation", "Pearson r of imperfections and accuracy of non-circles"),
    *COUNTS,
]
