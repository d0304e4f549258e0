"""Opsets, IR versions and runtimes that do not fit together."""
