"""What torch has for what stands at a line: read from the line, and said only where it is there."""

from __future__ import annotations

import re

_NUMPY = re.compile(r"\b(?:np|numpy)\.((?:linalg\.|fft\.)?\w+)\(")
_CALLED = re.compile(r"([\w.]*)\(|\)")
_OTHER_NAMES = {
    "concatenate": "cat", "clip": "clamp", "array": "as_tensor", "asarray": "as_tensor",
    "power": "pow", "absolute": "abs", "random.rand": "rand", "expand_dims": "unsqueeze",
    "repeat": "repeat_interleave", "copy": "clone", "max": "amax", "min": "amin",
    "tensordot": "tensordot", "degrees": "rad2deg", "radians": "deg2rad", "ascontiguousarray": "clone",
}  # fmt: skip
# Where the name alone is something else to torch, or nothing.
_FORMS = {
    "median": "torch.quantile(x, 0.5)", "percentile": "torch.quantile(x, q / 100)",
    "std": "torch.std(x, correction=0)", "var": "torch.var(x, correction=0)",
    "ptp": "torch.amax(x) - torch.amin(x)",
}  # fmt: skip
# Python's own on a list of numbers; `max` of a tensor would be the method's pair.
_BUILT_IN = {"sorted": "sort", "sum": "sum", "max": "amax", "min": "amin", "len": "numel",
             "any": "any", "all": "all", "median": "quantile(x, 0.5)", "mean": "mean", "stdev": "std",
             "sqrt": "sqrt", "log": "log", "exp": "exp", "floor": "floor", "ceil": "ceil",
             "cos": "cos", "sin": "sin", "abs": "abs", "round": "round", "fsum": "sum",
             "pstdev": "std(x, correction=0)", "set": "unique",
             "Counter": "unique(x, return_counts=True)"}  # fmt: skip
# What gives the list on as it is, or number by number.
_PASSING = frozenset({"", "list", "tuple", "float", "int", "enumerate", "zip", "reversed", "iter"})
# What makes bytes or a text of the values, for somebody who reads them.
_TELLS = re.compile(
    r"\b(?:json\.dumps?|pickle\.dumps?|(?:np|numpy)\.save\w*)\(|\.(?:tobytes|tofile)\("
)
_TOLD = "return the tensor, and write it down or send it outside of the model"
_OUTSIDE = "what torch has no operator for is computed before the model, or after it"


def of_array(code: str) -> str:
    """For a line that goes on in NumPy, or with a list of Python's."""
    import torch

    if _TELLS.search(code):
        return _TOLD
    for name in _nearest(_NUMPY.findall(code.partition(".numpy(")[0]), _NUMPY.findall(code)):
        if name in _FORMS:
            return (
                f"{_FORMS[name]} is what numpy.{name} is to arrays: leave out .numpy() and use it"
            )
        same = _OTHER_NAMES.get(name, name)
        found: object = torch
        for part in same.split("."):
            found = getattr(found, part, None)
        if callable(found) and same != "as_tensor":
            return f"torch.{same} is what numpy.{name} is to arrays: leave out .numpy() and use it"
        if found is None:
            return f"torch has no {name}: say it with other operators of torch's; {_OUTSIDE}"
    return (
        _of_list(code)
        or f"leave the values in the tensor and go on with operators of torch's; {_OUTSIDE}"
    )


def _nearest(inside: list[str], every: list[str]) -> list[str]:
    """What is called with the array itself comes first, what is called with that next."""
    return [*reversed(inside), *every]


def _of_list(code: str) -> str:
    """For a list of Python's own; empty where nothing is known for what it is given to."""
    before, made, after = code.partition(".tolist(")
    if not made:
        return ""
    given = [name for name in _given_to(before) if name not in _PASSING]
    # Where no call has the list at once, it got a name that another line uses.
    names = given[:1] or [name.rpartition(".")[2] for name, *_ in re.findall(r"([\w.]+)\(", after)]
    known = [_BUILT_IN[name] for name in names if name in _BUILT_IN]
    return f"leave out .tolist() and use torch.{known[0]} on the tensor" if known else ""


def _given_to(before: str) -> list[str]:
    """The calls that are not closed yet, the innermost first."""
    calls: list[str] = []
    for found in _CALLED.finditer(before):
        if found.group() != ")":
            calls.append(found.group(1).rpartition(".")[2])
        elif calls:
            calls.pop()
    return calls[::-1]


def of_number(taken: str, needed: str) -> str:
    """For a number of Python's that was read from a tensor: by what it is needed for."""
    if "range(" in needed:
        return "go through all rounds there may be and mask those beyond the number (torch.where)"
    if mathematics := re.search(r"\bmath\.(\w+)\(", needed):
        name = mathematics.group(1)
        return f"leave out .item() and use torch.{_BUILT_IN.get(name, name)} on the tensor"
    if cure := _TOLD if _TELLS.search(needed) else _of_list(taken):
        return cure
    if re.search(r"[\w\])]\[(?![-\d, ]+\])[^\]:]+\]", needed):
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
