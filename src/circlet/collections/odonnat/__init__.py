"""Clustering heads of transformers (Odonnat et al. 2024)."""
