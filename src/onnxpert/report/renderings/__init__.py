"""One file per rendering; a new file here is a new word after `--format`."""
