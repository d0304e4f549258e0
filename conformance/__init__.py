"""Every operator of torch's own database through onnxpert: `make conformance`, docs/operators.md."""
