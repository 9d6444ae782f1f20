"""What we found beyond the papers."""
