"""Sizes that Python or torch would take a number for, kept open: one habit of models in each file."""
