"""What we found beyond the papers."""

ORDER = 4  # on pages and in the scorecard
