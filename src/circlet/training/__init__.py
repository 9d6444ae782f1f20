"""Training: run the blocks of a study and write their logs."""
