"""Collections: one subject each, with systems, tables, figures and claims.

Their layout is described in `circlet.study.registry`.
"""
