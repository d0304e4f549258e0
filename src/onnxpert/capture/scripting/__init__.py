"""Models and functions that were scripted: TorchScript read as the Python it was made from."""
