"""Data types that a file says in another way, or at a price."""
