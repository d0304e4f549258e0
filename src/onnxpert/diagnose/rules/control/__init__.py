"""Python that asks a tensor for its value."""
