"""Survival of the fittest representation (Ding et al. 2024)."""

ORDER = 2  # on pages and in the scorecard
