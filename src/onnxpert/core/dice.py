"""Python's and NumPy's own generators of random numbers, left as they were."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy


@contextmanager
def dice_kept() -> Iterator[None]:
    """What the block draws is drawn again by whoever comes after it."""
    pythons, numpys = random.getstate(), numpy.random.get_state()
    try:
        yield
    finally:
        random.setstate(pythons)
        numpy.random.set_state(numpys)
