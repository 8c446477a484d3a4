"""Lower precision than the problem declares."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from solbench.judge.guard._python import PythonFile, literal
from solbench.judge.guard._registry import Hit, SubjectHit, python_rule, subject_rule
from solbench.judge.guard._subject import Subject

_FLAGS = re.compile(
    r"torch\.backends\.\S*(?:allow_tf32|allow_(?:fp16|bf16)\w*|fp32_precision|matmul_precision)$"
)
_SAFE = (False, "highest", "ieee")
_SHORT = {"half": "float16", "bfloat16": "bfloat16"}
_LOW = re.compile(r"torch\.(half|float16|bfloat16|float8_\w+|float4_\w+)$")
_FAST = re.compile(r"-ffast-math|-Ofast|-funsafe-math|-fassociative-math|-?-?ftz=true")


@python_rule("precision_flag")
def precision_flag(file: PythonFile) -> Iterator[Hit]:
    """A switch of the process that has products computed in a lower precision."""
    if file.subject.lower_precision_allowed:
        return
    for node in file.nodes:
        if isinstance(node, ast.Assign) and literal(node.value) not in (..., *_SAFE):
            for target in node.targets:
                if _FLAGS.match(file.name(target)):
                    yield node.lineno, f"{file.name(target)} is set"
    for call, name in file.calls:
        if name == "torch.set_float32_matmul_precision" and (
            not call.args or literal(call.args[0]) not in _SAFE
        ):
            yield call.lineno, "products of float32 are allowed to be rougher"
        elif name in ("torch.set_flush_denormal", "torch.autocast", "torch.set_default_dtype"):
            yield call.lineno, f"{name}()"


@python_rule("precision_cast")
def precision_cast(file: PythonFile) -> Iterator[Hit]:
    """A cast to a floating-point type that no tensor of the problem has."""
    declared = file.subject.dtypes
    if not declared or file.subject.lower_precision_allowed:
        return
    for call, _ in file.calls:
        if isinstance(call.func, ast.Attribute) and not call.args:
            short = _SHORT.get(call.func.attr)
            if short and short not in declared:
                yield call.lineno, f"a cast to {short}"
    for node, name in file.attributes:
        found = _LOW.match(name)
        if found and _SHORT.get(found[1], found[1]) not in declared:
            yield node.lineno, f"{name} is used, which no tensor of the problem has"


@subject_rule("fast_math", "note")
def fast_math(subject: Subject) -> Iterator[SubjectHit]:
    """Compiler flags that trade accuracy for speed; the public form's defaults are not meant."""
    options = subject.solution.spec.compile_options
    if options is None:
        return
    for flag in options.cflags:
        if _FAST.search(flag):
            yield subject.solution.spec.entry_file, 0, f"compiled with {flag}"


@subject_rule("build_flags", "alarm")
def build_flags(subject: Subject) -> Iterator[SubjectHit]:
    """Flags that put other code in, wrap functions, or reach into other folders."""
    options = subject.solution.spec.compile_options
    if options is None:
        return
    for flag in (*options.cflags, *options.cuda_cflags, *options.ld_flags):
        if re.search(
            r"--?wrap\b|-init\b|-fini\b|-include\b|-imacros|-fplugin|-B/|-specs|@|-wrapper", flag
        ):
            yield subject.solution.spec.entry_file, 0, f"built with {flag}"
