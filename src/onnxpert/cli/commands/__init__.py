"""One file per command; a new file here is a new word after `onnxpert`."""
