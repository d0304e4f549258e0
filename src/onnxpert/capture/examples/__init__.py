"""The example inputs made into ones that a capture can learn from, or that the model takes at all."""
