"""Figures, each module printed as a table: `python -m benchmarks.NAME`."""
