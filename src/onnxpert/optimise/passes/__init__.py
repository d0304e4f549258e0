"""The passes, a file each."""
