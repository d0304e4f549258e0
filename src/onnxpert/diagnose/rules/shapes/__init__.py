"""Sizes that shall vary and do not."""
