"""Clustering and alignment of embeddings (Mușat 2024)."""

ORDER = 1  # on pages and in the scorecard
