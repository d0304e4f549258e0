"""The lowerings of ATen operators, a file per family."""
