"""Weights that lie elsewhere than in the model: in a checkpoint, or nowhere yet."""
