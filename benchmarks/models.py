"""The models that are measured: everyday architectures with random weights, one builder each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Inputs: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]

VOCABULARY = 1000
# (batch, sequence) of the example that is exported, and of two runs that it must not be tied to.
EXAMPLE = (2, 16)
TIMED = (1, 64)
OTHER = (3, 37)


@dataclass(frozen=True, slots=True)
class Built:
    module: nn.Module
    inputs: Callable[[int, int], Inputs]  # of a batch and a sequence length
    dynamic_shapes: Any


@dataclass(frozen=True, slots=True)
class Model:
    about: str
    builder: Callable[[], Built]
    counted: bool = True  # in the geometric means
    layers: int | None = None  # of a model that is measured at several depths

    def build(self) -> Built:
        """The same weights each time: the files are compared with a model built anew."""
        torch.manual_seed(0)
        built = self.builder()
        built.module.eval()
        return built

    def example(self, built: Built, size: tuple[int, int]) -> Inputs:
        torch.manual_seed(1)
        return built.inputs(*size)


def dynamic(**axes: tuple[int, ...]) -> dict[str, dict[int, Any]]:
    return {name: dict.fromkeys(dims, torch.export.Dim.DYNAMIC) for name, dims in axes.items()}


def tokens(batch: int, sequence: int) -> Tensor:
    return torch.randint(3, VOCABULARY, (batch, sequence))


def text(module: nn.Module) -> Built:
    """A model of token ids alone."""

    def inputs(batch: int, sequence: int) -> Inputs:
        return (), {"input_ids": tokens(batch, sequence)}

    return Built(module, inputs, dynamic(input_ids=(0, 1)))


def image(module: nn.Module, channels: int, height: int, width: int) -> Built:
    """A model of images of one size, the batch dynamic."""

    def inputs(batch: int, _sequence: int) -> Inputs:
        return (torch.randn(batch, channels, height, width),), {}

    return Built(module, inputs, ({0: torch.export.Dim.DYNAMIC},))


def timm(name: str) -> Built:
    from timm import create_model

    module = create_model(name, pretrained=False)
    return image(module, *module.default_cfg["input_size"])


def bert(layers: int) -> Built:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=256,
        intermediate_size=1024,
        num_hidden_layers=layers,
        num_attention_heads=8,
        vocab_size=VOCABULARY,
    )

    def inputs(batch: int, sequence: int) -> Inputs:
        # the rows of a batch are padded to different lengths: a mask of ones hides a lost mask
        lengths = sequence - torch.arange(batch).unsqueeze(1) % (sequence // 2)
        mask = (torch.arange(sequence) < lengths).long()
        return (), {"input_ids": tokens(batch, sequence), "attention_mask": mask}

    # A mask has the sizes of what it masks; the table of positions has 512 rows.
    dims = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=512)}
    return Built(BertModel(config), inputs, {"input_ids": dims, "attention_mask": dims})


def llama(layers: int) -> Built:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=layers,
        num_attention_heads=8,
        num_key_value_heads=4,
        vocab_size=VOCABULARY,
        use_cache=False,
    )
    return text(LlamaForCausalLM(config))


def qwen3(layers: int) -> Built:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=layers,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=32,
        vocab_size=VOCABULARY,
        use_cache=False,
    )
    return text(Qwen3ForCausalLM(config))


def gpt2(layers: int) -> Built:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        n_embd=256,
        n_layer=layers,
        n_head=8,
        vocab_size=VOCABULARY,
        bos_token_id=1,
        eos_token_id=2,
        use_cache=False,
    )
    return text(GPT2LMHeadModel(config))


def mixtral(layers: int) -> Built:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=layers,
        num_attention_heads=8,
        num_key_value_heads=4,
        num_local_experts=4,
        num_experts_per_tok=2,
        vocab_size=VOCABULARY,
        use_cache=False,
    )
    return text(MixtralForCausalLM(config))


def t5(layers: int) -> Built:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        d_model=256,
        d_kv=32,
        d_ff=1024,
        num_layers=layers,
        num_decoder_layers=layers,
        num_heads=8,
        vocab_size=VOCABULARY,
        decoder_start_token_id=0,
        use_cache=False,
    )

    def inputs(batch: int, sequence: int) -> Inputs:
        written = tokens(batch, sequence // 2)
        return (), {"input_ids": tokens(batch, sequence), "decoder_input_ids": written}

    shapes = dynamic(input_ids=(0, 1), decoder_input_ids=(0, 1))
    return Built(T5ForConditionalGeneration(config), inputs, shapes)


def whisper(layers: int) -> Built:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        d_model=384,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=6,
        decoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_ffn_dim=1536,
        vocab_size=VOCABULARY,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
        use_cache=False,
    )

    def inputs(batch: int, sequence: int) -> Inputs:
        # the encoder takes half a minute of sound and nothing else
        sound = torch.randn(batch, 80, 3000)
        return (), {"input_features": sound, "decoder_input_ids": tokens(batch, sequence)}

    shapes = dynamic(input_features=(0,), decoder_input_ids=(0, 1))
    return Built(WhisperForConditionalGeneration(config), inputs, shapes)


def lstm(layers: int) -> Built:
    def inputs(batch: int, sequence: int) -> Inputs:
        return (torch.randn(batch, sequence, 64),), {}

    dims = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    return Built(nn.LSTM(64, 128, num_layers=layers, batch_first=True), inputs, (dims,))


class UNet(nn.Module):
    """Four levels down and up again, with a skip at each and a resized mask at the end."""

    def __init__(self, *widths: int) -> None:
        super().__init__()
        steps = list(pairwise(widths))
        self.first = self.block(3, widths[0])
        self.down = nn.ModuleList(self.block(narrow, wide) for narrow, wide in steps)
        self.widen = nn.ModuleList(
            nn.ConvTranspose2d(wide, narrow, 2, stride=2) for narrow, wide in reversed(steps)
        )
        self.up = nn.ModuleList(self.block(2 * narrow, narrow) for narrow, _ in reversed(steps))
        self.head = nn.Conv2d(widths[0], 2, 1)

    @staticmethod
    def block(before: int, after: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for channels in (before, after):
            layers += [nn.Conv2d(channels, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        return nn.Sequential(*layers)

    def forward(self, image: Tensor) -> Tensor:
        x: Tensor = self.first(image)
        skips = []
        for block in self.down:
            skips.append(x)
            x = block(F.max_pool2d(x, 2))
        for widen, block in zip(self.widen, self.up, strict=True):
            x = block(torch.cat([skips.pop(), widen(x)], dim=1))
        mask: Tensor = self.head(x)
        return F.interpolate(mask, scale_factor=2.0, mode="bilinear", align_corners=False)


def unet() -> Built:
    return image(UNet(16, 32, 64, 128), 3, 128, 128)


def _llama(layers: int, *, counted: bool = True) -> Model:
    return Model(f"Llama, {layers} layers", partial(llama, layers), counted, layers)


TIMM = (
    "resnet50",
    "mobilenetv3_large_100",
    "efficientnet_b0",
    "convnext_tiny",
    "vit_small_patch16_224",
    "swin_tiny_patch4_window7_224",
    "densenet121",
)
MODELS = {
    **{name: Model(name, partial(timm, name)) for name in TIMM},
    "bert12": Model("Bert, 12 layers", partial(bert, 12)),
    "llama2": _llama(2, counted=False),  # with llama8 for the growth of cost with depth alone
    "llama4": _llama(4),
    "llama8": _llama(8, counted=False),
    "llama16": _llama(16),
    "llama32": _llama(32),
    "qwen3": Model("Qwen3, 16 layers", partial(qwen3, 16)),
    "t5": Model("T5, 6 + 6 layers", partial(t5, 6)),
    "whisper": Model("Whisper, 4 + 4 layers", partial(whisper, 4)),
    "gpt2": Model("GPT-2, 12 layers", partial(gpt2, 12)),
    "mixtral": Model("Mixtral, 4 layers of 4 experts", partial(mixtral, 4)),
    "lstm": Model("LSTM, 2 layers", partial(lstm, 2)),
    "unet": Model("UNet, 4 levels", unet),
}
