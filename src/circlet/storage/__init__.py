"""Files: logs and tables as Parquet, their provenance, locks, and progress."""
