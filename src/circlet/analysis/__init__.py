"""Methods that tables of several collections share, and how tables are written."""
