"""One file per runtime."""
