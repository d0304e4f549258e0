"""The codemods, a file each."""
