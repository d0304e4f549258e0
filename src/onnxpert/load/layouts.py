"""Layouts and dtypes of example tensors that no ONNX input has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch

from onnxpert.core.types import InputLeaf, SpecProblem


def sparse_problems(leaves: Iterable[InputLeaf]) -> Iterator[SpecProblem]:
    for leaf in leaves:
        value = leaf.value
        if isinstance(value, torch.Tensor) and value.is_quantized:
            dtype = str(value.dtype).removeprefix("torch.")
            yield SpecProblem(
                "unsupported-input",
                f"input {leaf.path} is a {dtype} tensor, which ONNX does not have",
                "give a float tensor, and call torch.quantize_per_tensor inside the model",
            )
            continue
        if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
            layout = str(value.layout).removeprefix("torch.")
            yield SpecProblem(
                "unsupported-input",
                f"input {leaf.path} is a {layout} tensor, which ONNX does not have",
                "give a dense tensor (.to_dense()), or indices and values as inputs of their own",
            )
