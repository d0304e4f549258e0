"""The numbers that a loop counts through, and the part of a tensor whose rows have these numbers."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from onnxpert.repair.source.page import Page, given, names_in


class NotByRowError(Exception):
    """The loop is not one over the rows of tensors, or does more than to compute them."""


@dataclass(frozen=True, slots=True)
class Count:
    """From `low` up to `high`, which is not among them; `back`: the other way round."""

    low: str
    high: str
    back: bool = False
    is_open: bool = False  # it may depend on the inputs

    def every(self, maker: str) -> str:
        low = "" if self.low == "0" else f"{self.low}, "
        return f"{maker}{low}{self.high})" + (".flip(0)" if self.back else "")

    def part(self, axis: int, offset: int) -> str:
        """In brackets, what to take of a tensor along an axis; "" for all of it."""
        low, high = _shifted(self.low, offset), _shifted(self.high, offset)
        if low.startswith("-"):  # from the end, in the first turns
            raise NotByRowError
        taken = f"[{':, ' * axis}{low}:{high}]" if low != "0" or offset else ""
        return taken + (f".flip({axis})" if self.back else "")


def count(page: Page, over: cst.BaseExpression) -> Count | None:
    """Of `range(...)` by one up or down, None for anything else."""
    name = page.name(over.func) if isinstance(over, cst.Call) else ""
    values = given(over)[0] if isinstance(over, cst.Call) else []
    codes = [page.code(each) for each in values]
    is_open = any(names_in(each) - {"self"} for each in values)
    if name == "reversed" and len(values) == 1:
        inner = count(page, values[0])
        return Count(inner.low, inner.high, not inner.back, inner.is_open) if inner else None
    if name != "range" or not codes or "\n" in "".join(codes):
        return None
    if len(codes) < 3:
        low, high = ["0", *codes][-2:]
        return Count(low, high, is_open=is_open)
    if codes[1:] == ["-1", "-1"]:
        return Count("0", _shifted(codes[0], 1), True, is_open)
    return None


def _shifted(code: str, by: int) -> str:
    """That much more, in few words."""
    if code.isdecimal():
        return str(int(code) + by)
    sign, back = ("+", "-") if by > 0 else ("-", "+")
    if not by or not code:
        return code
    undone = code.removesuffix(f" {back} {abs(by)}")
    return undone if undone != code else f"{code} {sign} {abs(by)}"
