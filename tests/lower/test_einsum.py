"""Einstein sums."""

import pytest
import torch

from tests.lower.same import assert_same

ROWS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("i->i", [(3,)]),
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ij->j", [(2, 3)]),
    ("ji", [(2, 3)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("...ii->...i", [(2, 4, 3, 3)]),
    ("i,i->", [(3,), (3,)]),
    ("i,j->ij", [(3,), (4,)]),
    ("i,j->ji", [(3,), (4,)]),
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk->ki", [(2, 3), (3, 4)]),
    ("ij,kj->ik", [(2, 3), (4, 3)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ij,ij->i", [(2, 3), (2, 3)]),
    ("ij,j->ij", [(2, 3), (3,)]),
    ("ij,i->ij", [(2, 3), (2,)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]),
    ("bij,bjk->ikb", [(2, 3, 4), (2, 4, 5)]),
    ("bhld,bhsd->bhls", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("blhd,bshd->bhls", [(2, 4, 3, 5), (2, 6, 3, 5)]),
    ("bhls,bshd->blhd", [(2, 3, 4, 6), (2, 6, 3, 5)]),
    ("nctv,vw->nctw", [(2, 3, 4, 5), (5, 6)]),
    ("nkctv,kvw->nctw", [(2, 3, 4, 2, 5), (3, 5, 6)]),
    ("bld,hdk->blhk", [(2, 3, 4), (5, 4, 6)]),
    ("blhk,hkd->bld", [(2, 3, 5, 6), (5, 6, 4)]),
    ("bhwc,hkc->bhwk", [(2, 3, 4, 5), (3, 4, 5)]),
    ("bn,anm,bm->ba", [(2, 3), (4, 3, 5), (2, 5)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("a,b,c->abc", [(2,), (3,), (4,)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 6)]),
    ("...ij,jk", [(2, 3, 4), (4, 5)]),
    ("ij...,jk...->ik...", [(2, 3, 4), (3, 5, 4)]),
    ("ij,jk->ik", [(2, 1), (3, 4)]),
    ("ij,ij->i", [(2, 1), (2, 3)]),
    ("bi,bi->b", [(2, 3), (1, 3)]),
    ("ij,kl->ik", [(2, 3), (4, 5)]),
    ("ii,ij->j", [(3, 3), (3, 4)]),
    ("AbC,C -> bA", [(2, 3, 4), (4,)]),
    (",ij->ij", [(), (2, 3)]),
]


@pytest.mark.parametrize(("equation", "shapes"), ROWS, ids=[row[0] for row in ROWS])
def test_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    assert_same(lambda *given: torch.einsum(equation, *given), *map(torch.randn, shapes))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int16, torch.float64])
def test_einsum_of_other_dtypes(dtype: torch.dtype) -> None:
    a, b = (torch.arange(12).view(3, 4).to(dtype) for _ in range(2))
    assert_same(lambda x, y: torch.einsum("ij,kj->ik", x, y), a, b)
    assert_same(lambda x, y: torch.einsum("ij,kj->ijk", x, y), a, b)
    assert_same(lambda x: torch.einsum("ij->j", x), a)
    assert_same(lambda x: torch.einsum("ii->i", x), a[:, :3])


@pytest.mark.parametrize(
    ("equation", "shapes", "others"),
    [
        ("bhld,bhsd->bhls", [(2, 3, 4, 5), (2, 3, 6, 5)], [(1, 3, 1, 5), (1, 3, 1, 5)]),
        ("bld,hdk->blhk", [(2, 3, 4), (5, 4, 6)], [(1, 7, 4), (5, 4, 6)]),
        ("blhk,bhkd->bld", [(2, 3, 5, 6), (2, 5, 6, 4)], [(1, 7, 5, 6), (1, 5, 6, 4)]),
        ("bi,bj->bij", [(2, 3), (2, 4)], [(1, 1), (1, 6)]),
    ],
)
def test_einsum_at_other_sizes(
    equation: str, shapes: list[tuple[int, ...]], others: list[tuple[int, ...]]
) -> None:
    assert_same(
        lambda *given: torch.einsum(equation, *given),
        *map(torch.randn, shapes),
        dynamic="auto",
        others=[list(map(torch.randn, others))],
    )


def test_plain_contractions_are_single_products() -> None:
    def kinds(equation: str, *shapes: tuple[int, ...]) -> list[str]:
        result = assert_same(
            lambda *given: torch.einsum(equation, *given), *map(torch.randn, shapes)
        )
        return [node.op_type for node in result.model.graph]

    assert kinds("ij,jk->ik", (2, 3), (3, 4)) == ["MatMul"]
    assert kinds("nctv,vw->nctw", (2, 3, 4, 5), (5, 6)) == ["MatMul"]
    assert kinds("bhld,bhsd->bhls", (2, 3, 4, 5), (2, 3, 6, 5)) == ["Transpose", "MatMul"]
