"""Clustering heads of transformers (Odonnat et al. 2024)."""

ORDER = 3  # on pages and in the scorecard
