"""Files that a runtime refuses."""
