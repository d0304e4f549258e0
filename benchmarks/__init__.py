"""The cost of an export and the speed of its file, beside torch's own exporters: `make bench`."""
