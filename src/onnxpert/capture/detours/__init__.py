"""Calls of torch's functions that a recording answers itself, a habit of models in each file."""
