"""What papers of 2026 claim about when networks grok."""

ORDER = 5  # on pages and in the scorecard
