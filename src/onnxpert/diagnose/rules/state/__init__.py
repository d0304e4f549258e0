"""What a model keeps from one call to the next."""
