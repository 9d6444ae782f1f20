"""West wing: run the blocks of a study and write their logs."""
