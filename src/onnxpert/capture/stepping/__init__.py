"""A line on which the model itself raises, stepped over: what is behind it is looked at in the same run.

Nothing of it is exported: `over` finds the line and runs the model on, `instead` says what stands in its
place, `stand_ins` what the value is that nobody computed."""
