"""What stands in the way, found by a capture that only looks.

From the outside in: `survey` is what a capture asks; `scout` runs the model beside the example's values,
with the shape environment of `knowing`; `leaving` answers calls that go out of torch, `witness` watches a
body that only runs on real tensors, `stumbling` reads what a body stumbled over."""
