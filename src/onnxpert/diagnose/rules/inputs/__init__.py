"""How the call and its inputs fit the model."""
