"""The rules, a folder per family and a file per rule."""
