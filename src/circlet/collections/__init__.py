"""Collections: one subject each, with systems, tables, figures and claims."""
