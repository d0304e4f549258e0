"""numpy in forward, said with torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, everything
from onnxpert.repair.source.watching import Kind

_SAME = (
    "abs exp log sqrt sin cos tan tanh sinh cosh sign floor ceil square where stack matmul sum mean "
    "prod zeros_like ones_like argmax argmin cumsum cumprod isnan isinf isfinite maximum minimum "
    "log1p expm1 log2 log10 exp2 einsum full_like outer argsort reshape squeeze tril triu hypot "
    "logical_and logical_or logical_not linalg.norm broadcast_to roll flip tile nan_to_num sinc std "
    "var all any round cross amax amin hstack vstack meshgrid swapaxes cov corrcoef quantile diff kron "
    "searchsorted trace"
)
_NAMES = {name: name for name in _SAME.split()} | {
    "concatenate": "cat", "clip": "clamp", "power": "pow", "dot": "matmul", "absolute": "abs",
    "arctan2": "atan2", "arctan": "atan", "arcsin": "asin", "arccos": "acos", "max": "amax",
    "min": "amin", "expand_dims": "unsqueeze", "transpose": "permute", "array": "clone",
    "repeat": "repeat_interleave", "asarray": "asarray",
}  # fmt: skip
_METHODS = {"astype": "to", "copy": "clone", "transpose": "permute", "max": "amax", "min": "amin",
            "std": "std", "var": "var", "repeat": "repeat_interleave"}  # fmt: skip
_WORDS = {
    "axis": "dim",
    "keepdims": "keepdim",
    "a_min": "min",
    "a_max": "max",
    "ddof": "correction",
}
_DTYPES = {name: name for name in ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"]} | {
    "float": "float64", "int": "int64", "bool": "bool", "bool_": "bool",
}  # fmt: skip
_VALUES = {"numpy.newaxis": "None", "numpy.pi": "torch.pi", "numpy.inf": "torch.inf"} | {
    f"numpy.{name}": f"torch.{dtype}" for name, dtype in _DTYPES.items()
}
_FROM_ARRAY = {"torch.FloatTensor": ".to(torch.float32)", "torch.Tensor": ".to(torch.float32)"} | {
    "torch.from_numpy": "", "torch.tensor": "", "torch.as_tensor": "",
    "torch.LongTensor": ".to(torch.int64)",
}  # fmt: skip
_OF_SIZES = {
    f"numpy.{name}": f"torch.{name}"
    for name in ("arange", "zeros", "ones", "eye", "full", "linspace")
}
_ON_THE_WAY = ("detach", "cpu", "contiguous")


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
        new = self._new(original_node, updated_node)
        self.calls += new is not None
        return updated_node if new is None else new

    def leave_Attribute(  # noqa: N802 - ditto
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        value = _VALUES.get(self._page.name(original_node))
        return self._page.expression(value) if value else updated_node

    def _new(self, old: cst.Call, call: cst.Call) -> cst.BaseExpression | None:
        name = self._page.name(old.func)
        if name in _FROM_ARRAY and self._page.was(old.args[0].value, Kind.ARRAY, Kind.TENSOR):
            dtype = [each.value for each in call.args if each.keyword]
            cast = f".to({self._page.code(dtype[0])})" if dtype else _FROM_ARRAY[name]
            return self._page.expression("{}" + cast, call.args[0].value)
        if name in _OF_SIZES and self._has(old.args, Kind.INT):
            made = self._call(call, self._page.expression(_OF_SIZES[name]))
            return made if name == "numpy.arange" else _as_doubles(made)
        if name.startswith("numpy.") and self._is_array(old.args):
            known = _NAMES.get(name.removeprefix("numpy."))
            if known == "clone":
                return self._page.expression("{}.clone()", call.args[0].value)
            return self._call(call, self._page.expression(f"torch.{known}")) if known else None
        if isinstance(old.func, cst.Attribute) and isinstance(call.func, cst.Attribute):
            return self._method(old.func, call, call.func)
        return None

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
        """With the words that torch has for the arguments."""
        args = [self._argument(each) for each in call.args]
        name = self._page.code(function).rpartition(".")[2]
        words = {each.keyword.value for each in args if each.keyword}
        if name in ("std", "var") and "correction" not in words:  # numpy's are of all values
            args += [cst.Arg(cst.Integer("0"), cst.Name("correction"), _EQUAL)]
        return call.with_changes(func=function, args=args)

    def _argument(self, arg: cst.Arg) -> cst.Arg:
        if arg.keyword is not None:
            word = arg.keyword.value
            return arg.with_changes(keyword=cst.Name(_WORDS.get(word, word)))
        value = arg.value
        said = value.raw_value if isinstance(value, cst.SimpleString) else self._page.code(value)
        dtype = _DTYPES.get(str(said)) if isinstance(value, (cst.SimpleString, cst.Name)) else None
        return arg.with_changes(value=self._page.expression(f"torch.{dtype}")) if dtype else arg

    def _is_array(self, args: Sequence[cst.Arg]) -> bool:
        """Whether an array, or a tensor that numpy would take for one, is among the arguments."""
        return self._has(args, Kind.ARRAY, Kind.TENSOR)

    def _has(self, args: Sequence[cst.Arg], *kinds: Kind) -> bool:
        inside = (each for arg in args[:3] for each in everything(arg.value))
        return any(self._page.was(each, *kinds) for each in inside)


_EQUAL = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def _as_doubles(call: cst.Call) -> cst.Call:
    """numpy's numbers are of double precision where nothing else is said."""
    if any(each.keyword and each.keyword.value == "dtype" for each in call.args):
        return call
    dtype = cst.Arg(cst.parse_expression("torch.float64"), cst.Name("dtype"), _EQUAL)
    return call.with_changes(args=[*call.args, dtype])


def _itself(value: cst.BaseExpression) -> cst.BaseExpression:
    """The tensor, without what was only needed on the way to numpy."""
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and not value.args:
        if value.func.attr.value not in _ON_THE_WAY:
            break
        value = value.func.value
    return value
