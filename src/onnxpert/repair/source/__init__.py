"""The user's source as it is rewritten: where an expression stands, what it was when it ran, changes."""
