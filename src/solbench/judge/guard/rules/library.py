"""Calls of a library's ready-made kernels, where a problem forbids them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from solbench.judge.guard._native import NativeFile
from solbench.judge.guard._python import PythonFile
from solbench.judge.guard._registry import Hit, native_rule, python_rule

_DOES_THE_WORK = re.compile(
    r"torch\.(?:mm|bmm|matmul|addmm|baddbmm|einsum|linalg\.\w+|softmax|conv\w*|nn\.functional\.\w+|nn\.\w+"
    r"|layer_norm|native_layer_norm|scaled_dot_product_attention|cumsum|sort|topk|_scaled_mm)$"
)


@python_rule("library_call")
def library_call(file: PythonFile) -> Iterator[Hit]:
    """PyTorch's own kernels do the work, in a problem whose policy forbids library calls."""
    if not file.subject.libraries_forbidden:
        return
    for call, name in file.calls:
        if _DOES_THE_WORK.match(name):
            yield call.lineno, f"{name}()"


@native_rule("native_library_call")
def native_library_call(file: NativeFile) -> Iterator[Hit]:
    """cuBLAS, cuDNN or ATen do the work, in a problem whose policy forbids library calls."""
    if not file.subject.libraries_forbidden:
        return
    for line, name in file.words(
        r"cublas\w+", r"cudnn\w+", r"cusparse\w+", r"at::\w+", r"torch::\w+"
    ):
        if name not in ("torch::Tensor", "at::Tensor"):
            yield line, name
