"""The repairs, a file each."""
