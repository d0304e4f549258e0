"""Nodes, outputs and initialisers that nothing reads."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass


def remove(model: ir.Model) -> None:
    RemoveUnusedNodesPass()(model)
