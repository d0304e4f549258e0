"""Which names a piece of code binds, and which of them it reads before it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from onnxpert.repair.source.page import Page, everything, names_in, small


def bound(node: cst.CSTNode) -> list[str]:
    """The names that code gives a value, in the order of the source; functions in it are their own."""
    return list(dict.fromkeys(_bound(node)))


def _bound(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        yield node.name.value
    elif isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.For, cst.AnnAssign, cst.NamedExpr)):
        yield from _plain(node.target)
        rest = node.children if isinstance(node, cst.For) else ()
        yield from (name for child in rest for name in _bound(child))
    elif not isinstance(node, (cst.Lambda, cst.BaseComp)):
        yield from (name for child in node.children for name in _bound(child))


def _plain(target: cst.CSTNode) -> Iterator[str]:
    """The names in `a, (b, c)`; what is written into (`a[0]`, `a.b`) is not bound."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        yield from (name for each in target.elements for name in _plain(each.value))


def reads_first(code: Iterable[cst.CSTNode], name: str) -> bool:
    """Whether statements may read a name before they give it a value."""
    return _first(code, name) is True


def _first(code: Iterable[cst.CSTNode], name: str) -> bool | None:
    """True: it is read first, False: bound first on every path, None: neither for certain."""
    for node in code:
        found = _touched(node, name)
        if found is not None:
            return found
    return None


def _touched(node: cst.CSTNode, name: str) -> bool | None:
    if isinstance(node, cst.If):
        sides = [_first(small(node.body), name), _first(small(node.orelse), name)]
        if name in names_in(node.test) or True in sides:
            return True
        return False if sides == [False, False] else None
    if isinstance(node, (cst.For, cst.While)):
        head = node.iter if isinstance(node, cst.For) else node.test
        own = isinstance(node, cst.For) and name in _plain(node.target)
        inside = None if own else _first(small(node.body), name)
        return True if name in names_in(head) or inside else None
    given = [each.target for each in node.targets] if isinstance(node, cst.Assign) else []
    own = any(name in _plain(each) for each in given)
    if isinstance(node, cst.Assign) and own and name not in names_in(node.value):
        return False
    return True if name in names_in(node) else None


def bound_before(page: Page, node: cst.CSTNode) -> set[str]:
    """The names that the function has by the time it comes to a statement."""
    names = (name for each in statements_before(page, node) for name in bound(each))
    return {*page.parameters(node), *names}


def statements_before(page: Page, node: cst.CSTNode) -> list[cst.CSTNode]:
    """Those that a function runs before it comes to one, in the order of the source."""
    blocks = reversed([*_around(page, node)])
    return [each for block, at in blocks for line in block.body[:at] for each in small(line)]


def read_after(page: Page, node: cst.CSTNode, name: str) -> bool:
    """Whether what a statement leaves in a name is read later, in the next turn of a loop around too."""
    return reads_first(statements_after(page, node), name)


def statements_after(page: Page, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Those that a function may run after one, with the next turn of a loop around it."""
    for block, at in _around(page, node):
        again = isinstance(page.parent(block), (cst.For, cst.While))
        for line in (*block.body[at + 1 :], *(block.body[: at + 1] if again else ())):
            yield from small(line)


def _around(page: Page, node: cst.CSTNode) -> Iterator[tuple[cst.IndentedBlock, int]]:
    """The blocks that a statement is in, from the inside out, and where it is in each."""
    function, block = page.function(node), page.parent(node)
    while block is not None and node is not function:
        if isinstance(block, cst.IndentedBlock):
            yield block, block.body.index(node)
        node, block = block, page.parent(block)


def carried(page: Page, loop: cst.For | cst.While) -> list[str]:
    """The names that a turn of a loop hands to the next one, or to what comes after the loop."""
    before, body = bound_before(page, loop), list(small(loop.body))
    head = names_in(loop.test) if isinstance(loop, cst.While) else set()
    made = set(_plain(loop.target)) if isinstance(loop, cst.For) else set()
    return [
        name
        for name in bound(loop.body)
        if name in before - made
        and (name in head or reads_first(body, name) or read_after(page, loop, name))
    ]


def ends_early(page: Page, loop: cst.For | cst.While) -> bool:
    """Whether a turn may end a loop, the function or itself before its last line."""
    around = page.function(loop)  # what an inner loop became has a return of its own
    ending = (cst.Return, cst.Break, cst.Continue, cst.Yield)
    return any(
        isinstance(each, ending) and page.function(each) is around for each in everything(loop.body)
    )


def unpacked(names: Sequence[str]) -> str:
    """`a`, or `(a, b)`: one or more names as a tree of values."""
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
