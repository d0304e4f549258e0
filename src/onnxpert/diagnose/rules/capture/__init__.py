"""Models that cannot be traced."""
