"""Complex tensors as pairs of reals: made, taken apart, moved about and computed with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir
import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop

from onnxpert.lower.complex_pairs import LAYOUT
from tests.lower.same import assert_same, lowered

F = torch.nn.functional


def _complex(*sizes: int, dtype: torch.dtype = torch.complex64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(sizes))
    return torch.randn(*sizes, dtype=dtype, generator=generator)


PARTS: dict[str, Callable[[torch.Tensor], Any]] = {
    "real and imag": lambda z: (z.real, z.imag + 1),
    "abs": torch.abs,
    "angle": torch.angle,
    "conj": lambda z: z.conj() * 2,
    "conj_physical": torch.conj_physical,
    "resolve_conj": lambda z: z.conj().resolve_conj(),
    "imag of conj": lambda z: z.conj().imag.resolve_neg(),
    "view_as_real": lambda z: torch.view_as_real(z).sum(-1),
    "round trip": lambda z: torch.view_as_complex(torch.view_as_real(z) * 2),
    "complex": lambda z: torch.complex(z.imag, z.real),
    "polar": lambda z: torch.polar(z.abs(), z.angle()),
    "sgn": torch.sgn,
    "tests": lambda z: (z.isnan(), z.isfinite(), torch.isreal(z)),
    "view of floats": lambda z: z.view(torch.float32) * 2,
    "view of complex": lambda z: (z.view(torch.float32) + 1).view(torch.complex64),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts(name: str) -> None:
    assert_same(PARTS[name], _complex(3, 4), dynamic="auto", others=[(_complex(2, 6),)])


STRUCTURE: dict[str, Callable[[torch.Tensor], Any]] = {
    "view": lambda z: z.view(-1, z.shape[0]),
    "permute": lambda z: z.permute(2, 0, 1),
    "transpose": lambda z: z.transpose(-1, 0),
    "mT": lambda z: z.mT,
    "mH": lambda z: z.mH,
    "cat": lambda z: torch.cat([z, z + 1], -1),
    "cat with reals": lambda z: torch.cat([z, z.real, z.abs() > 1], 0),
    "stack": lambda z: torch.stack([z, z.conj()], -1),
    "slice": lambda z: z[..., 1::2],
    "select": lambda z: z[:, -1],
    "index": lambda z: z[torch.tensor([1, 0]), torch.tensor([0, 2])],
    "index_select": lambda z: z.index_select(1, torch.tensor([2, 0])),
    "gather": lambda z: z.gather(1, torch.zeros(2, 1, 4, dtype=torch.int64)),
    "expand": lambda z: z[:1].expand(5, -1, -1),
    "unsqueeze": lambda z: z.unsqueeze(-1),
    "squeeze": lambda z: z[:, :1].squeeze(1),
    "flip": lambda z: z.flip(-1),
    "roll": lambda z: z.roll(1, -1),
    "split": lambda z: torch.split(z, [1, 2], 1),
    "chunk": lambda z: z.chunk(2, -1)[1],
    "unbind": lambda z: z.unbind(1),
    "where": lambda z: torch.where(z.real > 0, z, z.imag),
    "where number": lambda z: torch.where(z.real > 0, z, 0.5),
    "masked_fill": lambda z: z.masked_fill(z.real > 0, 1.5),
    "masked_fill complex": lambda z: z.masked_fill(z.real > 0, 1 - 2j),
    "pad": lambda z: F.pad(z, (1, 2), value=3.0),
    "reflect": lambda z: F.pad(z, (1, 2), mode="reflect"),
    "repeat": lambda z: z.repeat(1, 2, 1),
    "repeat_interleave": lambda z: z.repeat_interleave(2, -1),
    "clone": lambda z: z.clone().contiguous(),
    "tril": lambda z: z.tril(),
    "diagonal": lambda z: z.diagonal(dim1=-2, dim2=-1),
    "unfold": lambda z: z.unfold(-1, 2, 1),
    "sum": lambda z: (z.sum(), z.sum(1), z.sum((0, -1), keepdim=True)),
    "mean": lambda z: (z.mean(), z.mean(-1)),
    "cumsum": lambda z: z.cumsum(1),
    "to double": lambda z: z.to(torch.complex128),
    "to real": lambda z: z.real.to(torch.complex64) + z.real.to(z.dtype),
    "like": lambda z: (torch.zeros_like(z), torch.ones_like(z), torch.full_like(z, 1j)),
    "new": lambda z: (z.new_zeros(2), z.new_full((3,), 2.0)),
    "made": lambda z: torch.full((2,), 1 + 2j) * torch.ones(2, dtype=torch.complex64) + z[0, 0, 0],
}


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("name", STRUCTURE)
def test_structure(name: str) -> None:
    assert_same(STRUCTURE[name], _complex(2, 3, 4), dynamic="auto")


FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "neg": torch.neg,
    "reciprocal": torch.reciprocal,
    "square": torch.square,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "log": torch.log,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "log10": torch.log10,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "pow 2": lambda z: z**2,
    "pow 3": lambda z: z**3,
    "pow -1": lambda z: z**-1,
    "pow 0": lambda z: z**0,
    "pow 0.5": lambda z: z**0.5,
    "pow 1.7": lambda z: z**1.7,
    "pow 1j": lambda z: z ** (0.5 + 1j),
    "2 ** z": lambda z: 2**z,
    "z ** z": lambda z: z**z,
    "plus number": lambda z: (z + 1, 1 - z, z - 2j, z * 3, z / 2, 1 / z),
    "times 1j": lambda z: (z * 1j, z.real * 1j, 1j / z),
    "alpha": lambda z: (torch.add(z, z, alpha=2), torch.sub(z, z.real, alpha=0.5)),
    "norms": lambda z: (torch.linalg.vector_norm(z), z.norm(dim=-1), torch.linalg.norm(z)),
    "prod": lambda z: (z.prod(), z.prod(1), z.prod(0, keepdim=True)),
    "var": lambda z: (z.var(), z.std(-1), *torch.var_mean(z, 0)),
    "nan_to_num": lambda z: torch.nan_to_num(z / 0),
    "equal": lambda z: (z == z.conj(), z != z.real, z == 0, z.real == z),
    "addcmul": lambda z: torch.addcmul(z, z, z.conj(), value=0.5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    assert_same(FUNCTIONS[name], _complex(3, 4))


def test_functions_of_doubles() -> None:
    assert_same(
        lambda z: [function(z) for function in FUNCTIONS.values()],
        _complex(3, 4, dtype=torch.complex128),
    )


def test_functions_at_zero_and_on_axes() -> None:
    z = torch.tensor([0j, 1, -1, 1j, -1j, 4, -4, 2 - 2j, complex(-1, -0.0)])
    assert_same(lambda z: (z.sqrt(), z.abs(), z.angle(), z.sgn(), z**2.5, z**0), z)
    assert_same(lambda z: (z ** (1 + 1j), z.to(torch.bool), z.any(), z.all()), z)


BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (_complex(3, 4), _complex(4)),
        (_complex(3, 4), torch.randn(3, 1)),
        (torch.randn(4), _complex(3, 4)),
        (_complex(3, 1), torch.arange(1, 5)),
        (_complex(3, 4), torch.randn(3, 4, dtype=torch.float64)),
        (_complex(3, 4), torch.tensor(2.0, dtype=torch.float64)),
        (_complex(3, 1, dtype=torch.complex128), _complex(3, 4)),
    ],
    ids=["broadcast", "real", "left real", "whole", "double", "0-d double", "128"],
)
def test_arithmetic(name: str, a: torch.Tensor, b: torch.Tensor) -> None:
    assert_same(BINARY[name], a, b)


PRODUCTS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "mm": (torch.mm, (_complex(3, 4), _complex(4, 5))),
    "bmm": (torch.bmm, (_complex(2, 3, 4), _complex(2, 4, 5))),
    "matmul": (torch.matmul, (_complex(2, 3, 4), _complex(4))),
    "dot": (torch.dot, (_complex(4), _complex(4) * 1j)),
    "vdot": (torch.vdot, (_complex(4), _complex(4) * 1j)),
    "outer": (torch.outer, (_complex(4), _complex(3))),
    "linear": (F.linear, (_complex(2, 4), _complex(5, 4), _complex(5))),
    "linear without bias": (F.linear, (_complex(2, 4), _complex(5, 4))),
    "addmm": (torch.addmm, (_complex(3, 5), _complex(3, 4), _complex(4, 5))),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), (_complex(2, 3, 4),
               _complex(2, 4, 5))),
    "conv1d": (F.conv1d, (_complex(2, 3, 8), _complex(4, 3, 3), _complex(4))),
    "gram": (lambda a: a @ a.mH, (_complex(3, 4),)),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    function, args = PRODUCTS[name]
    assert_same(function, *args)


def test_rotary_embedding() -> None:
    freqs = torch.polar(torch.ones(16, 4), torch.outer(torch.arange(16.0), torch.rand(4)))

    class Rotary(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("freqs_cis", freqs, persistent=False)

        def forward(self, q: torch.Tensor) -> torch.Tensor:
            pairs = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
            freqs_cis = self.get_buffer("freqs_cis")[: q.shape[1]][None, :, None]
            return torch.view_as_real(pairs * freqs_cis).flatten(3).type_as(q)

    result = assert_same(
        Rotary().eval(),
        torch.randn(2, 6, 3, 8),
        dynamic={"q": {0: "batch", 1: "length"}},
        others=[(torch.randn(1, 9, 3, 8),)],
    )
    assert "Identity" not in {node.op_type for node in result.model.graph}
    made = {value.name for node in result.model.graph for value in node.outputs}
    assert set(result.origins) <= made
    assert set(result.locations) <= made


def test_writes_reach_the_whole() -> None:
    def write(z: torch.Tensor) -> torch.Tensor:
        z = z.clone()
        z[0] = 1j
        z.real[1] = 5.0
        z.imag.mul_(2)
        torch.view_as_real(z)[..., 0].add_(1)
        z.mul_(z.conj())
        z[1:, 1] += 2
        return z

    assert_same(write, _complex(3, 4))


def test_passes_through_regions_and_branches() -> None:
    def region(z: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            turned = z * 1j
        return torch.cond(z.real.sum() > 0, lambda w: w * 2, lambda w: w.conj().clone(), (turned,))

    assert_same(region, _complex(3), others=[(-_complex(3),)])


def _turned(z: torch.Tensor) -> Any:
    state, turned = z[0] * 0, []
    for row in z:
        state = state * 0.5j + row
        turned.append(state)
    return torch.stack(turned), state


def _until_large(z: torch.Tensor) -> Any:
    turns = torch.tensor(0)
    while z.abs().max() < 10:
        z, turns = z * (1 + 1j), turns + 1
    return z, turns


def _said_with_operators(z: torch.Tensor) -> Any:
    def more(turn: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return (turn < 3) & (value.abs().max() < 9)

    def body(turn: torch.Tensor, value: torch.Tensor) -> Any:
        return turn + 1, value * (1 + 1j)

    return while_loop(more, body, (torch.tensor(0), z))


@pytest.mark.parametrize("call", [_turned, _until_large, _said_with_operators])
def test_passes_through_loops(call: Callable[..., Any]) -> None:
    others = [(_complex(rows, 3),) for rows in (1, 2, 9)]
    assert_same(call, _complex(4, 3), dynamic=({0: "rows"},), others=others)


def test_layout_is_said_in_the_file() -> None:
    result = lowered(lambda z: (z * 2, z.real), (_complex(2, 3),))
    (given,) = result.model.graph.inputs
    assert given.dtype is ir.DataType.FLOAT
    assert given.shape is not None
    assert tuple(given.shape.numpy()) == (2, 3, 2)
    notes = {k: v for k, v in result.model.metadata_props.items() if "complex" in k}
    assert notes == dict.fromkeys(
        [f"onnxpert.complex.{given.name}", f"onnxpert.complex.{result.outputs[0]}"], LAYOUT
    )


def test_whole_numbers_become_complex() -> None:
    x = torch.arange(6).reshape(2, 3)
    assert_same(lambda x: (x.sum(0, dtype=torch.complex64), x * 1j, x.to(torch.complex64)), x)
    assert_same(lambda x: x.cumsum(1, dtype=torch.complex128), x)


def test_scalars_and_empty() -> None:
    assert_same(lambda z: (z * 2 + 1j, z.abs(), z.reshape(1)), torch.tensor(1 + 2j))
    assert_same(lambda z: (z * 2, z.sum(0)), torch.zeros(0, 3, dtype=torch.complex64))


def test_constants_and_weights() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(_complex(4, 4))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x @ self.weight, self.weight.real * torch.tensor([1j, 2, 3, 4])

    assert_same(Model().eval(), _complex(2, 4))


def test_an_operator_that_knows_no_pairs_is_named() -> None:
    with pytest.raises(AssertionError, match="complex"):
        lowered(torch.linalg.det, (_complex(3, 3),))


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_a_real_dtype_drops_the_imaginary_part() -> None:
    assert_same(
        lambda z: (z.mean(-1, dtype=torch.float32), z.sum(0, dtype=torch.float32)), _complex(3, 4)
    )


@pytest.mark.parametrize("call", [torch.logical_and, torch.logical_or, torch.logical_xor])
def test_truth_of_complex_numbers(call: Callable[..., Any]) -> None:
    z = torch.tensor([0j, 1j, 1 + 0j, 0j])
    assert_same(
        lambda z, y: (call(z, y), call(z, z.flip(0))), z, torch.tensor([0.0, 0.0, 2.0, 1.0])
    )
