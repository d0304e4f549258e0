"""Operators that ONNX, or this opset, does not have."""
