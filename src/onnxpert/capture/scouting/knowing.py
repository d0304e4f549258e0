"""A shape environment that knows the example's values: asked about data, it answers, and says so.

It overrides `ShapeEnv.evaluate_expr` and uses `backed_var_to_val` and
`pending_fresh_unbacked_symbols`, torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxpert.capture.faking.fake_mode import Fakes
from onnxpert.capture.reasoning import Frugal

Number = bool | int | float


class Knowing(Frugal):
    """Symbols that stand for data keep the value that the data have in the example."""

    def __init__(self, asked: Callable[[Any, str, frozenset[Any]], Any], **settings: Any) -> None:
        super().__init__(**settings)
        self.values: dict[Any, Any] = {}
        self._asked = asked
        self.doubting = False  # whether what is asked of sizes says nothing of the model

    def learn(self, symbol: Any, value: Number) -> None:
        """`symbol` is a size or a number that torch made up for something in the data."""
        expr = symbol.node.expr
        if not expr.is_number:
            bare = expr if expr.is_Symbol else _only_symbol(expr)
            if bare is not None and bare not in self.backed_var_to_val:
                # A truth value is a number to torch, which it compares with 1.
                number = int(value) if isinstance(value, bool) else value
                self.values.setdefault(bare, sympy.sympify(number))

    def number(self, symbol: Any) -> Number | None:
        """The value of a symbol in the example, None where something in it is unknown."""
        found = self._known(symbol.node.expr)
        if found is None:
            return None
        if isinstance(symbol, torch.SymBool):
            return bool(found)
        return int(found) if isinstance(symbol, torch.SymInt) else float(found)

    def evaluate_expr(self, orig_expr: Any, *rest: Any, **options: Any) -> Any:
        if self.doubting and (found := self._known(orig_expr)) is not None:
            return found  # and nothing is assumed
        try:
            return super().evaluate_expr(orig_expr, *rest, **options)
        except GuardOnDataDependentSymNode as error:
            found = self._known(orig_expr)
            if found is None:
                raise
            return self._asked(found, str(error), frozenset(sympy.sympify(orig_expr).free_symbols))

    def settle(self) -> None:
        """Symbols that nothing took up would be laid at the door of whoever runs torch next."""
        self.pending_fresh_unbacked_symbols.clear()

    def _known(self, expr: Any) -> Any:
        found = sympy.sympify(expr).xreplace(self.values).xreplace(self.backed_var_to_val)
        return None if found.free_symbols else found


def _only_symbol(expr: Any) -> Any:
    symbols = expr.free_symbols
    return next(iter(symbols)) if len(symbols) == 1 else None


def knowing_mode(asked: Callable[[Any, str, frozenset[Any]], Any]) -> FakeTensorMode:
    environment = Knowing(
        asked,
        allow_scalar_outputs=True,
        allow_dynamic_output_shape_ops=True,
        duck_shape=False,
    )
    return Fakes(shape_env=environment, allow_non_fake_inputs=True, export=True)
