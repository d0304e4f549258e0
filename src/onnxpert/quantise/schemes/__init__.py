"""One file per way to quantise."""
