"""The model in evaluation mode, on a copy."""

from __future__ import annotations

import copy

from onnxpert.core.types import Finding, Loaded, Safety, replace
from onnxpert.repair.repair import repair


@repair("switch-to-eval", cures=("STA303", "STA312"), safety=Safety.UNSAFE)
def switch_to_eval(loaded: Loaded, finding: Finding) -> Loaded:
    """A copy of the model was put into evaluation mode, and the proof is against that copy."""
    module = copy.deepcopy(loaded.module).eval()
    return replace(loaded, module=module, training=False)  # type: ignore[no-any-return]
