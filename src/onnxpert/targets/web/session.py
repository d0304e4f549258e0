"""A file opened in onnxruntime-web under Node, and fed through pipes."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import weakref
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_SCRIPT = Path(__file__).with_name("session.cjs")
PACKAGE = "onnxruntime-web"


class WebError(Exception):
    """What onnxruntime-web says of a file or of its inputs."""


@cache
def package() -> Path | None:
    """The folder of onnxruntime-web: beside this Python, above the working folder, or Node's own."""
    here = Path.cwd()
    node = shutil.which("node")
    shared = [Path(node).resolve().parents[1] / "lib"] if node else []
    for folder in (Path(sys.prefix), here, *here.parents, *shared):
        found = folder / "node_modules" / PACKAGE
        if (found / "package.json").is_file():
            return found
    return None


def version() -> str:
    """Of the package; "" where there is none."""
    home = package()
    if home is None:
        return ""
    return str(json.loads((home / "package.json").read_text(encoding="utf-8"))["version"])


class Session:
    """One process, one file. Ended when nobody holds it any more."""

    def __init__(self, path: Path) -> None:
        home, node = package(), shutil.which("node")
        assert home is not None
        assert node is not None
        command = [node, str(_SCRIPT), str(home), str(path), *map(str, _beside(path))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._end = weakref.finalize(self, _end, self._process)
        try:
            self._hear()
        except WebError:
            self._end()
            raise

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Every output in its order; raises WebError."""
        import numpy as np

        heads, chunks = [], []
        for name, array in feeds.items():
            raw = np.ascontiguousarray(array).tobytes()
            dtype, dims = str(array.dtype), list(array.shape)
            heads.append({"name": name, "type": dtype, "dims": dims, "bytes": len(raw)})
            chunks.append(raw)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(heads).encode() + b"\n" + b"".join(chunks))
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise WebError("the process of onnxruntime-web has ended") from error
        answer = self._hear()
        return [self._array(head) for head in answer["results"]]

    def _array(self, head: Mapping[str, Any]) -> Any:
        import numpy as np

        assert self._process.stdout is not None
        raw = self._process.stdout.read(head["bytes"])
        return np.frombuffer(raw, head["type"]).reshape(head["dims"])

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WebError(
                "the process of onnxruntime-web has ended, most often for want of memory"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WebError(answer["error"])
        return answer


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):  # what was left to be written
                pipe.close()
    process.kill()
    process.wait()


def _beside(path: Path) -> Iterator[Path]:
    """The files that hold weights of this one."""
    import onnx
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    model = onnx.load(path, load_external_data=False)
    names = {
        ExternalDataInfo(tensor).location
        for tensor in model.graph.initializer
        if uses_external_data(tensor)
    }
    for name in sorted(names):
        yield path.parent / name
