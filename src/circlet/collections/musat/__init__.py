"""Clustering and alignment of embeddings (Mușat 2024)."""
