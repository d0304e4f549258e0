"""Files in whole numbers: what they cost."""
