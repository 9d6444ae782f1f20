"""Collection of tables, plots and commands for any study, whatever its systems."""
