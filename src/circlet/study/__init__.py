"""The plan: the config, its points and blocks, their cost, and all targets.

Imports neither torch nor pandas.
"""
