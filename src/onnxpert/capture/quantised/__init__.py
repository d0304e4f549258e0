"""Tensors of torch's quantised dtypes while a model is recorded: boxes around what they stand for."""
