"""numpy in forward, said with torch."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change, fitted
from onnxpert.repair.source.page import Page, elements, given
from onnxpert.repair.source.state import firsts
from onnxpert.repair.source.watching import Kind

# What torch calls by another name; all else it has by the same one, or has not.
_NAMES = {
    "concatenate": "cat", "clip": "clamp", "power": "pow", "dot": "matmul", "absolute": "abs",
    "arctan2": "atan2", "arctan": "atan", "arcsin": "asin", "arccos": "acos", "max": "amax",
    "min": "amin", "expand_dims": "unsqueeze", "transpose": "permute", "repeat": "repeat_interleave",
    "bool_": "bool", "float": "float64", "int": "int64", "average": "mean", "mod": "remainder",
    "hanning": "hann_window", "hamming": "hamming_window", "blackman": "blackman_window",
    "bartlett": "bartlett_window",
}  # fmt: skip
_METHODS = {"astype": "to", "copy": "clone", "transpose": "permute", "max": "amax", "min": "amin",
            "std": "std", "var": "var", "repeat": "repeat_interleave"}  # fmt: skip
_WORDS = {"axis": "dim", "keepdims": "keepdim", "a_min": "min", "a_max": "max",
          "ddof": "correction"}  # fmt: skip
_BOUNDED = {"maximum": "min", "minimum": "max"}  # by a number: torch has them of tensors alone
_QUANTILES = {"median": "0.5", "percentile": "{} / 100", "quantile": "{}"}
_FROM_ARRAY = ("torch.from_numpy", "torch.tensor", "torch.as_tensor")
_WINDOWS = ("hanning", "hamming", "blackman", "bartlett")
_OF_SIZES = ("arange", "zeros", "ones", "eye", "full", "linspace", *_WINDOWS)
# Its deviations are of all values, its numbers of double precision.
_GRANTED = (
    dict.fromkeys(("std", "var"), ("correction", "0"))
    | dict.fromkeys(_OF_SIZES[1:], ("dtype", "torch.float64"))
    | dict.fromkeys((_NAMES[each] for each in _WINDOWS), ("periodic", "False, dtype=torch.float64"))
    | {"meshgrid": ("indexing", '"xy"')}
)
_READ = (cst.BaseExpression, cst.BaseElement, cst.SubscriptElement, cst.BaseSlice, cst.Arg)
_ON_THE_WAY = ("detach", "cpu", "contiguous")


def _known(name: str) -> str:
    """What torch has for a function, a constant or a dtype of numpy's, "" for nothing."""
    import torch

    own = _NAMES.get(name, name)
    try:
        operator.attrgetter(own)(torch)
    except AttributeError:
        return "None" if name == "newaxis" else ""
    return f"torch.{own}"


@codemod("compute-with-torch-arrays", cures=("CTL402", "CTL408", "CTL405", "CAP001", "INP122"))
def compute_with_torch_arrays(page: Page) -> Iterator[Change]:
    """An array of numpy's is outside of the graph; torch has the same functions for tensors."""
    tests = [branch.test for branch in page.each(cst.If)]
    statements = page.each(cst.BaseSmallStatement)  # type: ignore[type-abstract]
    for node in [*statements, *tests]:
        translation = _Translation(page)
        new = node.visit(translation)
        if translation.calls and isinstance(new, cst.CSTNode):
            yield node, new


class _Translation(cst.CSTTransformer):
    """From the inside out, so that what was an array is a tensor by the time it is asked for."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self.calls = 0

    def leave_Call(  # noqa: N802 - the names are libcst's
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        if self._stays(original_node):
            return self._read(original_node, updated_node)
        new = self._new(original_node, updated_node)
        self.calls += new is not None
        return updated_node if new is None else fitted(self._page, original_node, new)

    def leave_Attribute(  # noqa: N802 - ditto
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name, around = self._page.name(original_node), self._page.parent(original_node)
        called = isinstance(around, cst.Call) and around.func is original_node
        value = _known(name.removeprefix("numpy.")) if name.startswith("numpy.") else ""
        if value and not called:
            return self._page.expression(value)
        return self._lasting(original_node, updated_node)

    def leave_Name(  # noqa: N802 - ditto
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.BaseExpression:
        return self._lasting(original_node, updated_node)

    def _lasting(
        self, old: cst.Name | cst.Attribute, new: cst.BaseExpression
    ) -> cst.BaseExpression:
        """An array that was there before the call stays one, and is a tensor where it is read."""
        if self._stays(old):
            return self._read(old, new)
        argument = self._page.parent(old)
        call = self._page.parent(argument) if isinstance(argument, cst.Arg) else None
        made = isinstance(call, cst.Call) and self._page.name(call.func) in _FROM_ARRAY
        if made or not self._page.was(old, Kind.ARRAY) or not self._page.is_lasting(old):
            return new
        beside = self._page.parent(old)
        if isinstance(beside, cst.BinaryOperation):  # a tensor alone makes it one, too
            self.calls += any(map(self._page.is_tensor, (beside.left, beside.right)))
        return self._page.expression("torch.as_tensor({})", new)

    def _read(self, old: cst.BaseExpression, new: cst.BaseExpression) -> cst.BaseExpression:
        """One that stays, beside one that does not."""
        around = self._page.parent(old)
        argument = isinstance(around, cst.Arg)
        beside = self._page.parent(around) if isinstance(around, cst.Arg) else around
        known = isinstance(beside, cst.Call) and self._page.name(beside.func) in _FROM_ARRAY
        mixed = isinstance(beside, cst.BinaryOperation) or (argument and not known)
        if not mixed or not isinstance(beside, cst.BaseExpression) or self._stays(beside):
            return new
        return self._page.expression("torch.as_tensor({})", new)

    def _stays(self, node: cst.CSTNode) -> bool:
        """Whether it is an array of nothing but Python's numbers, which no function of torch's makes."""
        return self._page.was(node, Kind.ARRAY) and self._is_free(node)

    def _is_free(self, node: cst.CSTNode) -> bool:
        """Whether neither a tensor nor what will be one goes into it."""
        page = self._page
        if isinstance(node, cst.Name) and page.was(node, Kind.ARRAY):
            made = firsts(page, _statement(page, node), node.value)
            return bool(made) and all(map(self._is_free, made))
        if page.was(node, Kind.TENSOR, Kind.TENSORS, Kind.VALUES):
            return False
        if isinstance(node, cst.Call):
            own = page.name(node.func).removeprefix("numpy.")
            of_sizes = own in _OF_SIZES and page.name(node.func) != own
            function = node.func
            on = [function.value] if isinstance(function, cst.Attribute) else []
            return not of_sizes and all(map(self._is_free, (*on, *(a.value for a in node.args))))
        parts = (each for each in node.children if isinstance(each, _READ))
        return all(map(self._is_free, parts))

    def _new(self, old: cst.Call, call: cst.Call) -> cst.BaseExpression | None:
        page, name = self._page, self._page.name(old.func)
        maker = page.was(old.func, Kind.MAKER)
        first = old.args[0].value if old.args else old
        array = page.was(first, Kind.ARRAY, Kind.TENSOR) and not page.is_lasting(first)
        array = array and not self._stays(first)
        if (name in _FROM_ARRAY or maker) and array:
            dtypes = [page.code(each.value) for each in call.args if each.keyword]
            dtypes += [f"torch.{page.values(old.func)[0].dtype}"] if maker else []
            cast = "".join(f".to({each})" for each in dtypes)
            return page.expression("{}" + cast, call.args[0].value)
        own = name.removeprefix("numpy.") if name.startswith("numpy.") else ""
        whole = all(isinstance(each.value, cst.Integer) for each in old.args)
        if own in _OF_SIZES and (whole or self._has(old.args, Kind.INT)):
            return self._call(call, page.expression(_known(own)))
        if own and self._has(old.args, Kind.ARRAY, Kind.TENSOR, Kind.TENSORS):
            if own in ("array", "asarray"):
                said = "torch.stack({})" if page.was(first, Kind.TENSORS) else "{}.clone()"
                casts = [page.code(each.value) for each in call.args if each.keyword]
                said += "".join(f".to({each})" for each in casts)
                return page.expression(said, call.args[0].value)
            return self._bounded(old, call, own) or self._function(old, call, own)
        if isinstance(old.func, cst.Attribute) and isinstance(call.func, cst.Attribute):
            return self._method(old.func, call, call.func)
        return None

    def _function(self, old: cst.Call, call: cst.Call, own: str) -> cst.BaseExpression | None:
        if own == "digitize":
            return self._digits(old, call)
        if own.removeprefix("nan") in _QUANTILES:
            return self._quantile(call, own)
        known = self._call(call, self._page.expression(_known(own))) if _known(own) else None
        return self._page.expression("{}.values", known) if known and own == "sort" else known

    def _bounded(self, old: cst.Call, call: cst.Call, own: str) -> cst.BaseExpression | None:
        numbers = [
            isinstance(each.value, cst.BaseNumber) or self._is_number(each) for each in old.args
        ]
        if own not in _BOUNDED or numbers not in ([True, False], [False, True]):
            return None
        whole, bound = (call.args[numbers.index(each)].value for each in (False, True))
        return self._page.expression(f"torch.clamp({{}}, {_BOUNDED[own]}={{}})", whole, bound)

    def _digits(self, old: cst.Call, call: cst.Call) -> cst.BaseExpression | None:
        """What is equal to an edge is above it, unless it is asked otherwise; both of one dtype."""
        (whole, edges), words = given(call)[0][:2], given(call)[1]
        if len(call.args) != 2 or words:
            return None
        dtypes = {each.dtype for arg in old.args for each in self._page.values(arg.value)}
        cast = ".double()" if len(dtypes) > 1 else ""
        said = f"torch.bucketize({{}}{cast}, {{}}{cast}, right=True)"
        return self._page.expression(said, whole, edges)

    def _is_number(self, arg: cst.Arg) -> bool:
        return self._page.was(arg.value, Kind.INT, Kind.FLOAT)

    def _quantile(self, call: cst.Call, own: str) -> cst.BaseExpression:
        """A share of the values, between two of them where need be: torch's own median takes the lower."""
        whole, *rest = call.args
        said = _QUANTILES[own.removeprefix("nan")]
        share = self._page.expression(said, *(each.value for each in rest[: said.count("{}")]))
        name = "torch.nanquantile" if own.startswith("nan") else "torch.quantile"
        args = [whole.with_changes(comma=cst.MaybeSentinel.DEFAULT), cst.Arg(share)]
        args += rest[said.count("{}") :]
        return self._call(call.with_changes(args=args), self._page.expression(name))

    def _method(
        self, old: cst.Attribute, call: cst.Call, function: cst.Attribute
    ) -> cst.BaseExpression | None:
        value, method = old.value, old.attr.value
        if method == "numpy" and self._page.is_tensor(value):
            return _itself(function.value)
        if method in _METHODS and self._page.was(value, Kind.ARRAY):
            return self._call(call, function.with_changes(attr=cst.Name(_METHODS[method])))
        return None

    def _call(self, call: cst.Call, function: cst.BaseExpression) -> cst.Call:
        """With the words that torch has for the arguments, and what numpy takes for granted."""
        args = [self._argument(each) for each in call.args]
        word, value = _GRANTED.get(self._page.code(function).rpartition(".")[2], ("", ""))
        if word and not any(each.keyword and each.keyword.value == word for each in args):
            granted = cst.ensure_type(cst.parse_expression(f"f({word}={value})"), cst.Call)
            args += granted.args
        return call.with_changes(func=function, args=args)

    def _argument(self, arg: cst.Arg) -> cst.Arg:
        if arg.keyword is not None:
            word = arg.keyword.value
            if word == "kind":  # of a sort: all of torch's can be stable
                return arg.with_changes(keyword=cst.Name("stable"), value=cst.Name("True"))
            return arg.with_changes(keyword=cst.Name(_WORDS.get(word, word)))
        value = arg.value
        said = value.raw_value if isinstance(value, cst.SimpleString) else self._page.code(value)
        is_dtype = isinstance(value, cst.SimpleString) or said in ("float", "int", "bool")
        dtype = _known(str(said)) if is_dtype else ""
        return arg.with_changes(value=self._page.expression(dtype)) if dtype else arg

    def _has(self, args: Sequence[cst.Arg], *kinds: Kind) -> bool:
        """Whether such a value is among the arguments, or in a list that is one."""
        given_values = (each for arg in args for each in (arg.value, *elements(arg.value)))
        return any(self._page.was(each, *kinds) for each in given_values)


def _statement(page: Page, node: cst.CSTNode) -> cst.CSTNode:
    """The one that a node is in."""
    while not isinstance(node, cst.BaseStatement):
        node = page.parent(node) or page.tree
    return node


def _itself(value: cst.BaseExpression) -> cst.BaseExpression:
    """The tensor, without what was only needed on the way to numpy."""
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and not value.args:
        if value.func.attr.value not in _ON_THE_WAY:
            break
        value = value.func.value
    return value
