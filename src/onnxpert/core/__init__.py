"""The values, the errors and the catalogue mechanism; imports no sibling and no torch."""
