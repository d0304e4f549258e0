"""Wrappers come off from the outside in, and the user's model stays as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.optim.swa_utils import AveragedModel

from onnxpert.core.types import Request
from onnxpert.load import load


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 2), nn.Dropout())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


X = torch.ones(2, 3)


@pytest.fixture
def process_group() -> Iterator[None]:
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_compiled_module_and_data_parallel_nested() -> None:
    net = Net()
    wrapped = nn.DataParallel(torch.compile(net, backend="eager"))
    loaded = load(Request(wrapped, (X,)))
    assert loaded.module is net
    assert loaded.unwrapped == ("DataParallel", "OptimizedModule")
    assert [leaf.name for leaf in loaded.leaves] == ["x"]  # not the *inputs of the wrapper
    assert wrapped.module._orig_mod is net


@pytest.mark.usefixtures("process_group")
def test_distributed_data_parallel() -> None:
    net = Net()
    loaded = load(Request(nn.parallel.DistributedDataParallel(net), (X,)))
    assert loaded.module is net
    assert loaded.unwrapped == ("DistributedDataParallel",)


def test_checkpoint_wrapper_and_averaged_model() -> None:
    net = Net()
    loaded = load(Request(AveragedModel(checkpoint_wrapper(net)), (X,)))
    assert isinstance(loaded.module, Net)  # AveragedModel holds a copy of its own
    assert loaded.unwrapped == ("AveragedModel", "CheckpointWrapper")


def test_fully_sharded_by_its_name() -> None:
    kind = type(
        "FullyShardedDataParallel",
        (nn.Module,),
        {"__module__": "torch.distributed.fsdp.fully_sharded_data_parallel"},
    )
    wrapper = kind()
    wrapper.module = net = Net()
    assert load(Request(wrapper, (X,))).module is net


def test_a_users_class_of_that_name_is_the_model() -> None:
    kind = type("DataParallel", (nn.Module,), {"__module__": "my.package"})
    wrapper = kind()
    wrapper.module = Net()
    wrapper.forward = lambda x: x
    assert load(Request(wrapper, (X,))).module is wrapper


def test_compiled_function() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    loaded = load(Request(torch.compile(torch.compile(double, backend="eager")), (X,)))
    assert loaded.module is double
    assert loaded.unwrapped == ("torch.compile",)  # torch itself takes the inner one off


def test_training_is_any_part_in_training() -> None:
    net = Net()
    assert load(Request(net, (X,))).training
    net.eval()
    assert not load(Request(net, (X,))).training
    net.inner[1].train()
    assert load(Request(net, (X,))).training
    assert load(Request(net.forward, (X,))).training
    assert not load(Request(torch.relu, (X,))).training


def test_training_of_a_script_module() -> None:
    script = torch.jit.trace(nn.Linear(3, 2).eval(), X)
    assert not load(Request(script, (X,))).training
    assert load(Request(script.train(), (X,))).training


def test_source_is_the_def_of_the_forward() -> None:
    source = load(Request(Net(), (X,))).source
    assert source is not None
    assert source.file == __file__
    assert source.code == "def forward(self, x: torch.Tensor) -> torch.Tensor:"
    with open(__file__) as file:
        assert file.readlines()[source.line - 1].strip() == source.code
    assert load(Request(nn.Sequential(Net()), (X,))).source is None  # torch's own forward
    assert load(Request(torch.relu, (X,))).source is None
