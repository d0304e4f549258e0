"""Where the stages meet: one model through the whole walk, and the calls users make."""
