"""Survival of the fittest representation (Ding et al. 2024)."""
