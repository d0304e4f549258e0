"""Python's branches in a capture: every question a model asks, answered both ways.

From the outside in: `explorer` goes through the paths of a model; `runs` makes them, with `questions`
noting what Python asks and `traces` what a run did; `continuation` and `meeting` tell where two sides
have become one again; `joining` and `weaving` write them as one graph."""

from onnxpert.capture.forking.asides import asked_once
from onnxpert.capture.forking.explorer import flat, forked

__all__ = ["asked_once", "flat", "forked"]
