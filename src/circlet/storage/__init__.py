"""Files: logs and tables as Parquet, locks, progress, and what made them."""
