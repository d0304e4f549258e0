"""Reports made by hand, as large and as bad as a test wants them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from onnxpert.core.types import Finding, Location, Row, Severity, Symbol, Verdict
from onnxpert.report import Action, Report
from onnxpert.report.excerpt import Excerpt
from onnxpert.report.graph import Graph, GraphNode, NodeKind
from onnxpert.report.rule_note import RuleNote

FILE = "model.py"
SOURCE = (
    "    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:",
    "        q, k, v = self.qkv(x).chunk(3, dim=-1)",
    "        scores = torch.softmax(q @ k.transpose(-1, -2) * self.scale + mask, dim=-1)",
    "        spectrum = torch.linalg.eigvals(scores @ scores.mT).real",
    "",
    "        return self.out(scores @ v) + spectrum.sum()",
)
MISSING = Location(
    FILE, 14, "encoder.layers.0.attn", "forward", SOURCE[3].strip(), column=20, end_column=60
)
CALLS = (
    Location(FILE, 41, "", "forward", "x = layer(x, mask)", 13, 27),
    Location(
        FILE, 26, "encoder.layers.0", "forward", "x = x + self.attn(self.norm(x), mask)", 17, 46
    ),
)
PAGE = """\
## What it does
Finds operators that `onnxpert` cannot say in ONNX.

## Why it matters
A file without them would compute something else:

- silently, if nobody looks
- or not at all

## Example
```python
y = torch.linalg.eigvals(x)
```
"""
DIFF = """\
--- a/model.py
+++ b/model.py
@@ -17,3 +17,3 @@
     def forward(self, x, strength):
-        self.calls += 1
+        calls = self.calls + 1
         return x * strength
"""


class Sketch:
    """Nodes in the order they are put down."""

    def __init__(self) -> None:
        self.nodes: list[GraphNode] = []

    def put(
        self, op: str, *inputs: int, module: str = "", weight: str = "", place: int | None = None
    ) -> int:
        name = f"{module}.{op}_{len(self.nodes)}".strip(".")
        kind = NodeKind.MISSING if op.startswith("aten_") else NodeKind.OPERATOR
        weights = (f"{module}.weight: {weight}",) if weight else ()
        types = ("float32[batch, seq, 64]",)
        self.nodes.append(GraphNode(kind, op, name, inputs, types, weights, module, place=place))
        return len(self.nodes) - 1

    def attention(self, x: int, mask: int, path: str, *, missing: bool) -> int:
        qkv = self.put("MatMul", x, module=f"{path}.qkv", weight="float32[64, 192]", place=1)
        qkv = self.put("Add", qkv, module=f"{path}.qkv", place=1)
        parts = self.put("Split", qkv, module=path, place=1)
        q, k, v = (self.put("Transpose", parts, module=path, place=1) for _ in range(3))
        scores = self.put("Mul", self.put("MatMul", q, k, module=path, place=2), module=path)
        scores = self.put("Add", scores, mask, module=path, place=2)
        scores = self.put("Softmax", scores, module=path, place=2)
        mixed = self.put("MatMul", scores, v, module=path, place=3)
        out = self.put("MatMul", mixed, module=f"{path}.out", weight="float32[64, 64]", place=3)
        if missing:
            out = self.put(
                "Add", out, self.put("aten_eigvals", scores, module=path, place=0), module=path
            )
        return self.put("Add", out, module=f"{path}.out", place=3)

    def block(self, x: int, mask: int, path: str, *, missing: bool) -> int:
        norm = self.put("LayerNormalization", x, module=f"{path}.norm1", weight="float32[64]")
        attended = self.attention(norm, mask, f"{path}.attn", missing=missing)
        x = self.put("Add", x, attended, module=path)
        hidden = self.put("LayerNormalization", x, module=f"{path}.norm2", weight="float32[64]")
        for part, op, weight in (
            ("fc1", "MatMul", "float32[64, 256]"),
            ("fc1", "Add", ""),
            ("act", "Gelu", ""),
            ("fc2", "MatMul", "float32[256, 64]"),
            ("fc2", "Add", ""),
        ):
            hidden = self.put(op, hidden, module=f"{path}.mlp.{part}", weight=weight)
        return self.put("Add", x, hidden, module=path)


def transformer(layers: int, *, missing: int = 0) -> Graph:
    """A stack of attention blocks, the first `missing` of them with an operator that is missing."""
    sketch = Sketch()
    sketch.nodes += [
        GraphNode(NodeKind.INPUT, "", "tokens", (), ("int64[batch, seq]",)),
        GraphNode(NodeKind.INPUT, "", "mask", (), ("float32[batch, 1, seq, seq]",)),
    ]
    x = sketch.put("Gather", 0, module="embed", weight="float32[1000, 64]")
    for at in range(layers):
        x = sketch.block(x, 1, f"encoder.layers.{at}", missing=at < missing)
    x = sketch.put("ReduceMean", x)
    x = sketch.put("Gemm", x, module="head", weight="float32[64, 10]")
    sketch.nodes.append(GraphNode(NodeKind.OUTPUT, "", "logits", (x,), ("float32[batch, 10]",)))
    nodes = tuple(
        dataclasses.replace(node, findings=(0,)) if node.kind is NodeKind.MISSING else node
        for node in sketch.nodes
    )
    places = tuple(Location(FILE, 11 + at, code=text.strip()) for at, text in enumerate(SOURCE[:4]))
    return Graph(nodes, (places[3], *places[:3]))


def refused(layers: int = 4) -> Report:
    """A model that cannot be exported, for several reasons."""
    modules = tuple(f"encoder.layers.{at}.attn" for at in range(layers))
    findings = (
        Finding(
            "OPS501",
            Severity.ERROR,
            "aten.linalg_eigvals has no lowering to ONNX: inside it aten.linalg_eig has none",
            MISSING,
            "write it with other operators, or compute it outside the model",
            count=layers,
            modules=modules,
            stack=CALLS,
        ),
        Finding(
            "STA301",
            Severity.ERROR,
            "forward changes the buffer calls, and the result depends on it",
            Location(FILE, 18, "", "forward", "self.calls += 1", 9, 24),
            "make calls an argument of forward and return its new value",
            ("calls is 0 before the first call and 1 after it",),
            diff=DIFF,
        ),
        Finding(
            "INP113",
            Severity.WARNING,
            "input strength is the number 0.5, and the file holds it as a constant",
            Location(FILE, 17, "", "Net.forward", "def forward(self, x, strength):"),
            "give it as torch.tensor(0.5) to make it an input",
        ),
        Finding(
            "INP105",
            Severity.ERROR,
            "input x is float16, the weight of embed is float32",
            repaired=True,
            repair="cast-inputs",
        ),
    )
    return Report(
        ok=False,
        action=Action.DIAGNOSE,
        model="Net",
        target="ort-cpu",
        opset=20,
        strategy="recorded",
        findings=findings,
        repairs=("cast-inputs: Cast inputs to the dtype the model computes in.",),
        timings={"load": 0.01, "capture": 0.37, "diagnose": 0.009, "lower": 1.42, "optimise": 0.01},
        versions={"torch": "2.13.0", "onnxruntime": "1.31.1"},
        version="0.1.0",
        rules=(RuleNote("OPS501", "unsupported-operator", Severity.ERROR, "Finds them.", PAGE),),
        checked=("CAP001", "INP105", "INP113", "OPS501", "STA301"),
        excerpts=(Excerpt(FILE, 11, SOURCE),),
        graph=transformer(layers, missing=layers),
        nodes=len(transformer(layers, missing=layers).nodes),
    )


def proven(layers: int = 4) -> Report:
    """A model that was exported and proven at several sizes."""
    rows = []
    for case, sizes, errors in (
        ("example", {"batch": 2, "seq": 16}, (2.4e-7, 1.1e-6, 0.0)),
        ("batch=1", {"batch": 1, "seq": 16}, (1.8e-7, 2.2e-6, 0.0)),
        ("seq=1", {"batch": 2, "seq": 1}, (6e-8, 4e-8, 0.0)),
        ("seq=64", {"batch": 2, "seq": 64}, (3.1e-6, 8.4e-6, 0.0)),
        ("other values", {"batch": 2, "seq": 16}, (5.5e-7, 1.9e-6, 0.0)),
    ):
        for output, error in zip(("logits", "hidden", "ids"), errors, strict=True):
            exact = output == "ids"
            limits = (0.0, 0.0) if exact else (1e-3, 1e-5)
            rows.append(Row(case, output, sizes, Verdict.PASS, error, error * 9, *limits))
    rows.append(
        Row("seq=0", "logits", {"batch": 2, "seq": 0}, Verdict.REFUSED, detail="the model refuses")
    )
    graph = transformer(layers)
    return Report(
        ok=True,
        path=Path("net.onnx"),
        model="Encoder",
        target="ort-cpu",
        opset=20,
        strategy="recorded",
        nodes=sum(node.op != "" for node in graph.nodes),
        bytes=48_230_000,
        sha256="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        inputs=("tokens: int64[batch, seq]", "mask: float32[batch, 1, seq, seq]"),
        outputs=("logits: float32[batch, 10]",),
        symbols=(Symbol("batch", 1, None, 2), Symbol("seq", 1, 512, 16)),
        verified=tuple(rows),
        timings={
            "load": 0.01,
            "capture": 0.62,
            "diagnose": 0.02,
            "lower": 0.31,
            "optimise": 0.01,
            "check": 0.05,
            "save": 0.12,
            "verify": 0.84,
        },
        versions={"Python": "3.11.7", "torch": "2.13.0", "onnxruntime": "1.31.1"},
        version="0.1.0",
        graph=graph,
    )
