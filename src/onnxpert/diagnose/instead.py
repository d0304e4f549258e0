"""What torch has for what stands at a line: read from the line, and said only where it is there."""

from __future__ import annotations

import re

_NUMPY = re.compile(r"\b(?:np|numpy)\.((?:linalg\.|fft\.)?\w+)\(")
_PYTHON = re.compile(r"\b(?:statistics\.|math\.)?(\w+)\(")
_OTHER_NAMES = {
    "concatenate": "cat", "clip": "clamp", "array": "as_tensor", "asarray": "as_tensor",
    "power": "pow", "absolute": "abs", "random.rand": "rand", "expand_dims": "unsqueeze",
    "repeat": "repeat_interleave", "copy": "clone", "nanmax": "amax", "ptp": "aminmax",
    "tensordot": "tensordot", "degrees": "rad2deg", "radians": "deg2rad", "ascontiguousarray": "clone",
}  # fmt: skip
# Python's own on a list of numbers; `max` of a tensor would be the method's pair.
_BUILT_IN = {"sorted": "sort", "sum": "sum", "max": "amax", "min": "amin", "len": "numel",
             "any": "any", "all": "all", "median": "median", "mean": "mean", "stdev": "std",
             "sqrt": "sqrt", "log": "log", "exp": "exp", "floor": "floor", "ceil": "ceil",
             "cos": "cos", "sin": "sin", "abs": "abs", "round": "round"}  # fmt: skip
_OUTSIDE = "what torch has no operator for is computed before the model, or after it"


def of_array(code: str) -> str:
    """For a line that goes on in NumPy, or with a list of Python's."""
    import torch

    for name in _NUMPY.findall(code):
        same = _OTHER_NAMES.get(name, name)
        found: object = torch
        for part in same.split("."):
            found = getattr(found, part, None)
        if callable(found) and same != "as_tensor":
            return f"torch.{same} is what numpy.{name} is to arrays: leave out .numpy() and use it"
        if same != "as_tensor":
            return f"torch has no {name}: say it with other operators of torch's; {_OUTSIDE}"
    if ".tolist(" in code:
        for name in _PYTHON.findall(code):
            if name in _BUILT_IN:
                return f"leave out .tolist() and use torch.{_BUILT_IN[name]} on the tensor"
    return f"leave the values in the tensor and go on with operators of torch's; {_OUTSIDE}"


def of_number(taken: str, needed: str) -> str:
    """For a number of Python's that was read from a tensor: by what it is needed for."""
    if "range(" in needed:
        return "go through all rounds there may be and mask those beyond the number (torch.where)"
    if mathematics := re.search(r"\bmath\.(\w+)\(", needed):
        name = mathematics.group(1)
        return f"leave out .item() and use torch.{_BUILT_IN.get(name, name)} on the tensor"
    if re.search(r"\w\[[^\]:]+\]", needed):
        return "index a tensor with it instead: torch.stack the choices, then index_select"
    if ".append(" in taken or "= float(" in taken or "= int(" in taken:
        return "leave out float(), int() or .item(): keep the tensor itself, and compute with it"
    return f"keep it a tensor, which torch computes with as with a number; {_OUTSIDE}"


# What kept a model from being written down line by line, and what to write instead.
_UNWRITTEN = {
    r"two names|another name|a list holds, too|as it was": (
        "write to a tensor of its own (`b = a.clone()`), or make a new one in place of writing: `a = a + 1`"
    ),
    r"None": "begin with a tensor of the shape it has later instead of None, and keep a flag beside it",
    r"raise": "ask for the case with `if` in front of the line instead of catching its error",
    r"attribute": "keep it in a variable of forward and return it, in place of an attribute",
    r"calls itself": "write the recursion as a loop",
    r"axes|differ in|different kinds|changes its shape": (
        "give it one dtype and one number of axes on every way (unsqueeze, .to)"
    ),
    r"list|sequence|deque": (
        "keep the items in one tensor, grown with torch.cat, and read it by its index"
    ),
    r"leaves open": "give the variable a value before the loop or the branch",
}


def of_unwritten(text: str) -> str:
    """For what stopped the writing; empty where nothing better is known."""
    return next((cure for said, cure in _UNWRITTEN.items() if re.search(said, text)), "")
