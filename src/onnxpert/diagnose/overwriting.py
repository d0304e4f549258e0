"""What a call writes into memory before it reads it there: of what was in it, nothing is left.

`self.cache[:b, :n] = x` and then `self.cache[:b, :n]` gives what was written, whatever calls before have
left behind. Views are told by how they are made: the same steps with the same sizes show the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxpert.core.looks import is_reshaping_write, shows_all, step
from onnxpert.core.storages import written

if TYPE_CHECKING:
    from torch import fx

# They write all of what they are given, and read nothing of it.
_WHOLE = frozenset({"copy_", "fill_", "zero_"})


class Overwritten:
    """The places in one memory that a call has written itself."""

    def __init__(self, base: fx.Node) -> None:
        self._base = base
        self._looks: dict[fx.Node, tuple[Any, ...] | None] = {base: ()}
        self._written: set[tuple[Any, ...]] = set()

    def covers(self, node: fx.Node) -> bool:
        look = self._look(node)
        return look is not None and any(look[: len(one)] == one for one in self._written)

    def write(self, call: fx.Node, target: fx.Node, *, clean: bool) -> None:
        """A call has written; `clean`: nothing of what was in that memory before."""
        if not clean:
            self._written.clear()
        elif _name(call) in _WHOLE and (look := self._look(target)) is not None:
            self._written.add(look)

    def reads(self, node: fx.Node) -> list[fx.Node]:
        """What a call is given and looks at."""
        given = list(node.all_input_nodes)
        if _name(node) in _WHOLE:
            targets = list(written(node.target, node.args, node.kwargs))
            sources = [*node.args[1:], *node.kwargs.values()]
            given = [one for one in given if one not in targets or one in sources]
        return given

    def _look(self, node: fx.Node) -> tuple[Any, ...] | None:
        """The steps from the memory as a whole to what a view shows; None if there is another way."""
        if node not in self._looks:
            self._looks[node] = self._made(node)
        return self._looks[node]

    def _made(self, node: fx.Node) -> tuple[Any, ...] | None:
        schema = getattr(node.target, "_schema", None)
        source: Any = node.args[0] if node.args else None
        if schema is None or not hasattr(source, "all_input_nodes"):
            return None
        if (
            len(schema.returns) != 1
            or schema.returns[0].alias_info is None
            or is_reshaping_write(node.target)
        ):
            return None
        before = self._look(source)
        return before if before is None or shows_all(node) else (*before, step(node))


def _name(node: fx.Node) -> str:
    return str(getattr(getattr(node.target, "overloadpacket", None), "__name__", ""))
