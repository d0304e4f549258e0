"""Node and onnxruntime-web: where they are, and a session in a process of their own."""
