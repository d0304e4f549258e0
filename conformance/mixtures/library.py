"""The operators that a random model is made of: calls with gaps for tensors, numbers and dimensions.

`torch.testing._internal` is private; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterator, Mapping

import torch

# {a}, {b}, {c}: tensors; {d}: a dimension of a; {n}: a small whole number; {r}: a real number.
_OTHERS = """
{a} + {b}
{a} - {n}
{n} - {a}
{a} * {r}
{a} / {b}
{a} // {n}
{a} % {n}
{a} ** 2
{r} ** {a}
-{a}
~{a}
{a} & {b}
{a} | {b}
{a} ^ {b}
{a} << 1
{a} >> 1
{a} == {b}
{a} < {n}
{a} >= {b}
abs({a})
torch.add({a}, {b}, alpha={n})
torch.sub({a}, {b}, alpha={n})
torch.addcmul({a}, {b}, {c}, value={n})
torch.addcdiv({a}, {b}, {c})
torch.lerp({a}, {b}, 0.25)
torch.where({a} > 0, {b}, {c})
torch.where({b} > {r}, {a}, {n})
torch.clamp({a}, -{n}, {n})
torch.clamp({a}, min={r})
torch.clamp({a}, {b}, {c})
{a}.masked_fill({b} > 0, {n})
torch.div({a}, {b}, rounding_mode="floor")
torch.div({a}, {n}, rounding_mode="trunc")
torch.matmul({a}, {b}.mT)
torch.matmul({a}, {b})
torch.nn.functional.linear({a}, {b})
torch.einsum("...i,...i->...", {a}, {b})
torch.outer({a}.reshape(-1), {b}.reshape(-1))
torch.cat([{a}, {a}], {d})
torch.cat([{a}.reshape(-1), {b}.reshape(-1)])
torch.stack([{a}, {a} + {n}], {d})
{a}.transpose(0, {d})
{a}.flatten()
{a}.unsqueeze({d})
{a}.squeeze()
{a}.reshape(-1)
{a}.flip({d})
{a}.roll({n}, {d})
{a}.movedim(0, -1)
{a}.expand(2, *{a}.shape)
{a}.repeat_interleave(2, {d})
{a}.narrow({d}, 0, 1)
{a}.select({d}, 0)
{a}.chunk(2, {d})[0]
{a}.unbind({d})[-1]
{a}[..., 0]
{a}[..., ::2]
{a}[..., None]
{a}[:1]
torch.tril({a})
torch.triu({a}, 1)
torch.diagonal({a}, 0, -1, -2)
torch.diag_embed({a})
torch.cumsum({a}, {d})
torch.cumprod({a}, {d})
torch.cummax({a}, {d}).values
torch.logcumsumexp({a}, {d})
torch.sort({a}, {d}).values
torch.topk({a}, 1, {d}).values
torch.kthvalue({a}, 1, {d}).values
torch.argmax({a}, {d})
torch.argmin({a}, {d}, keepdim=True)
torch.max({a}, {d}).values
torch.min({a}, {d}, keepdim=True).values
torch.max({a})
torch.aminmax({a}).max
torch.median({a})
torch.softmax({a}, {d})
torch.log_softmax({a}, {d})
torch.softmax({a}, {d}, dtype=torch.float32)
torch.nn.functional.softmin({a}, {d})
torch.nn.functional.gelu({a}, approximate="tanh")
torch.nn.functional.normalize({a}, dim={d})
torch.nn.functional.layer_norm({a}, {a}.shape[-1:])
torch.nn.functional.rms_norm({a}, {a}.shape[-1:])
torch.nn.functional.group_norm({a}, 1)
torch.nn.functional.pad({a}, (1, 2))
torch.nn.functional.pad({a}, (1, 1), value={n})
torch.nn.functional.pad({a}, (1, 1), mode="reflect")
torch.nn.functional.interpolate({a}, scale_factor=2)
torch.nn.functional.avg_pool1d({a}, 2)
torch.nn.functional.max_pool1d({a}, 2)
torch.nn.functional.adaptive_avg_pool1d({a}, 2)
torch.nn.functional.conv1d({a}, torch.ones(2, {a}.shape[1], 1, dtype={a}.dtype))
torch.nn.functional.embedding(({a} > 0).long(), {b}.reshape(-1, 1))
torch.nn.functional.one_hot(({a} > 0).long(), 2)
torch.nn.functional.mse_loss({a}, {b})
torch.nn.functional.cosine_similarity({a}, {b}, dim=-1)
torch.nn.functional.scaled_dot_product_attention({a}, {a}, {a})
torch.norm({a})
torch.linalg.vector_norm({a}, 1, {d})
torch.linalg.matrix_norm({a})
torch.var({a}, {d})
torch.std({a}, {d}, unbiased=False)
torch.mean({a}, {d}, dtype=torch.float32)
torch.sum({a}, {d}, dtype=torch.float64)
torch.sum({a}, dtype=torch.int32)
torch.prod({a}, {d})
torch.any({a}, {d})
torch.all({a}, {d}, keepdim=True)
torch.count_nonzero({a}, {d})
torch.logsumexp({a}, {d})
torch.gather({a}, {d}, ({a} > {n}).long() * 0)
torch.index_select({a}, {d}, torch.tensor([0, 0]))
torch.take({a}, torch.tensor([0]))
torch.scatter({a}, {d}, ({a} > {n}).long() * 0, {n})
torch.index_add({a}, {d}, torch.tensor([0]), {a}.narrow({d}, 0, 1))
{a}.index_fill({d}, torch.tensor([0]), {n})
torch.bucketize({a}, torch.tensor([-1.0, 0.0, 1.0]))
torch.full_like({a}, {n})
torch.ones_like({a}, dtype=torch.int8)
{a}.new_full((4,), {n})
torch.arange({a}.shape[-1], dtype={a}.dtype)
{a}.to({t})
{a}.type_as({b})
{a}.float()
{a}.half().float()
{a}.bool()
torch.view_as_real({a})
torch.complex({a}, {a})
torch.polar({a}.abs(), {a})
{a}.real
{a}.imag
{a}.conj()
torch.isclose({a}, {b})
torch.heaviside({a}, {b})
torch.nan_to_num({a}, {n})
torch.bitwise_left_shift({a}, {n})
torch.rot90({a})
torch.trace({a})
torch.kron({a}, {b})
torch.cdist({a}, {b})
torch.diff({a}, dim={d})
torch.cross({a}, {b}, dim={d})
torch.tensordot({a}, {b}, 1)
torch.baddbmm({a}, {b}, {c})
torch.addmm({a}, {b}, {c})
torch.allclose({a}, {a}) * {a}
""".strip().splitlines()

# What they give is a matter of chance or of how torch is built; `special` ones that cost minutes.
_LEFT_OUT = re.compile(
    r"empty|bernoulli|dropout|rrelu|rand|multinomial|normal_|^_|jiterator|sparse|__r|polygamma"
    r"|nn\.functional\.(hardshrink|threshold)|to_sparse|cauchy|exponential|geometric|uniform"
)


@functools.cache
def library() -> tuple[str, ...]:
    """Every call with its gaps, in an order that only torch's release changes."""
    return tuple(dict.fromkeys((*sorted(_of_the_database()), *_OTHERS)))


def _of_the_database() -> Iterator[str]:
    from torch.testing._internal import common_methods_invocations as database
    from torch.testing._internal.opinfo import core

    forms: Mapping[type, str] = {
        core.UnaryUfuncInfo: "({a})",
        core.BinaryUfuncInfo: "({a}, {b})",
        core.ReductionOpInfo: "({a}, dim={d})",
    }
    for info in database.op_db:
        form = next((text for kind, text in forms.items() if isinstance(info, kind)), None)
        if form is None or info.variant_test_name or _LEFT_OUT.search(info.name):
            continue
        if _is_there(info.name):
            yield f"torch.{info.name}{form}"


def _is_there(name: str) -> bool:
    try:
        return callable(operator.attrgetter(name)(torch))
    except AttributeError:
        return False
