"""What figures share: their style, panels, and how they are written."""
