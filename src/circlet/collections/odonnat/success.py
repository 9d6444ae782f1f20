"""Success and failure of a transformer, by its final test accuracy."""

SOLVED = 0.98  # above it: a success, as in the authors' plots
STUCK = 0.6  # below it a run of p = 2 has learned nothing
