"""What each language's solutions look like when they are right, wrong, slow, crash, or do not build.

Variants are the examples with a piece of text replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from solbench.spec import Solution, load_solution

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True, slots=True)
class Change:
    """``old`` becomes ``new`` in one source of an example."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Language:
    """An example and its four faulty sisters."""

    example: str
    """``problem/variant``."""
    devices: tuple[str, ...]
    wrong: Change
    slow: Change
    crash: Change
    broken: Change
    """Does not build; a Python language fails when it is loaded instead."""
    broken_status: str = "COMPILE_ERROR"


EXPECTED = {
    "right": ("PASSED",),
    "slow": ("PASSED",),
    "wrong": ("INCORRECT_NUMERICAL",),
    "crash": ("RUNTIME_ERROR",),
}


def _cpp(example: str, file: str, call: str, up: str) -> Language:
    return Language(
        example,
        ("cpu",),
        wrong=Change(file, up, f"1.1f * {up}"),
        slow=Change(file, call, f"for (int again = 0; again < 3; ++again) {call}"),
        crash=Change(file, call, f"*(volatile int*)8 = 1; {call}"),
        broken=Change(file, call, f"int unfinished = ; {call}"),
    )


def _cuda(example: str, file: str, call: str) -> Language:
    return Language(
        example,
        ("cuda",),
        wrong=Change(file, "(1.0f + __expf(-value))", "(1.1f + __expf(-value))"),
        slow=Change(file, call, f"for (int again = 0; again < 3; ++again) {call}"),
        crash=Change(
            file, "const int64_t row = blockIdx.y;", "const int64_t row = blockIdx.y + (1ll << 40);"
        ),
        broken=Change(file, call, f"int unfinished = ; {call}"),
    )


def _python(
    example: str, devices: tuple[str, ...], call: str, wrong: Change, broken: Change, status: str
) -> Language:
    """``call`` begins the line that does the work."""
    indent = "    "
    return Language(
        example,
        devices,
        wrong=wrong,
        slow=Change("kernel.py", indent + call, f"{indent}for _ in range(3):\n{2 * indent}{call}"),
        crash=Change("kernel.py", indent + call, f"{indent}raise ValueError('no')\n{indent}{call}"),
        broken=broken,
        broken_status=status,
    )


_SYNTAX = Change("kernel.py", "def run(", "def run(:")
_LAUNCH = "swiglu<<<grid, THREADS, 0, stream>>>("
_C_LAUNCH = "swiglu<<<grid, THREADS, 0, static_cast<cudaStream_t>(stream)>>>("
_CUTLASS_CALL = "product(arguments, nullptr, static_cast<cudaStream_t>(stream))"
_CUTLASS_RETURN = "    return static_cast<int>("

LANGUAGES = {
    "pytorch": _python(
        "linear_fp16/fast", ("cpu", "cuda"), "torch.matmul",
        Change("kernel.py", "out=output)", "out=output)\n    output.mul_(1.1)"),
        _SYNTAX, "COMPILE_ERROR",
    ),
    "torch.compile": _python(
        "swiglu/compiled", ("cuda",), "output.copy_",
        Change("kernel.py", "* up)", "* up * 1.1)"), _SYNTAX, "COMPILE_ERROR",
    ),
    "triton": _python(
        "linear_fp16/triton", ("cpu", "cuda"), "product[grid]",
        Change("kernel.py", "total.to(tl.float16)", "(total * 1.1).to(tl.float16)"),
        Change("kernel.py", "total = tl.zeros(", "total = tl.no_such_thing("), "RUNTIME_ERROR",
    ),
    "numba": _python(
        "swiglu/numba", ("cpu",), "activate(gate_up.view",
        Change("kernel.py", "* up)", "* up * np.float32(1.1))"),
        Change("kernel.py", "gate = widen(", "gate = no_such_thing("), "RUNTIME_ERROR",
    ),
    "cudnn_frontend": _python(
        "linear_fp16/cudnn_frontend", ("cuda",), "graph.execute(",
        Change("kernel.py", "workspace, handle=handle)", "workspace, handle=handle)\n    output.mul_(1.1)"),
        _SYNTAX, "COMPILE_ERROR",
    ),
    "cute_dsl": _python(
        "swiglu/cute_dsl", ("cuda",), "compiled[key](from_dlpack",
        Change("kernel.py", "(1.0 + cute.exp", "(1.1 + cute.exp"),
        Change("kernel.py", "cute.exp(-gate)", "cute.no_such_thing(-gate)"), "RUNTIME_ERROR",
    ),
    "cutile": _python(
        "swiglu/cutile", ("cuda",), "ct.launch(",
        Change("kernel.py", "(1.0 + ct.exp", "(1.1 + ct.exp"),
        Change("kernel.py", "ct.exp(-gate)", "ct.no_such_thing(-gate)"), "RUNTIME_ERROR",
    ),
    "cpp": _cpp("swiglu/cpp", "swiglu.cpp", "result[column] = narrow(", "widen(up[column])"),
    "cpp, tvm_ffi": _cpp(
        "swiglu/cpp_tvm_ffi", "swiglu.cpp", "to[column] = narrow(", "widen(from[width + column])"
    ),
    "cpp, torch": _cpp(
        "swiglu/cpp_torch", "swiglu.cpp", "to[column] = narrow(", "widen(from[width + column])"
    ),
    "cuda_cpp": _cuda("swiglu/cuda", "swiglu.cu", _C_LAUNCH),
    "cuda_cpp, tvm_ffi": _cuda("swiglu/cuda_tvm_ffi", "swiglu.cu", _LAUNCH),
    "cuda_cpp, torch": _cuda("swiglu/cuda_torch", "swiglu.cu", _LAUNCH),
    "cublas": Language(
        "linear_fp16/cublas", ("cuda",),
        wrong=Change("linear.cu", "one = 1.0f", "one = 1.1f"),
        slow=Change("linear.cu", "CUBLAS_COMPUTE_32F,", "CUBLAS_COMPUTE_32F_PEDANTIC,"),
        crash=Change("linear.cu", "    return cublas", "    return 7;\n    return cublas"),
        broken=Change("linear.cu", "    return cublas", "    int unfinished = ;\n    return cublas"),
    ),
    "cudnn": Language(
        "linear_fp16/cudnn", ("cuda",),
        wrong=Change("linear.cu", "one = 1.0f", "one = 1.1f"),
        slow=Change("linear.cu", "ALGORITHM = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM",
                    "ALGORITHM = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM"),
        crash=Change("linear.cu", "    return cudnnConvolution", "    return 7;\n    return cudnnConvolution"),
        broken=Change("linear.cu", "    const Plan& plan", "    int unfinished = ;\n    const Plan& plan"),
    ),
    "cutlass": Language(
        "linear_fp16/cutlass", ("cuda",),
        wrong=Change("linear.cu", "{1.0f, 0.0f}", "{1.1f, 0.0f}"),
        slow=Change("linear.cu", _CUTLASS_RETURN, f"    {_CUTLASS_CALL};\n{_CUTLASS_RETURN}"),
        crash=Change("linear.cu", _CUTLASS_RETURN, f"    return 7;\n{_CUTLASS_RETURN}"),
        broken=Change("linear.cu", "    Product product;", "    Product product"),
    ),
}  # fmt: skip


def expected(language: Language, variant: str) -> tuple[str, ...]:
    return EXPECTED.get(variant, (language.broken_status,))


def solution(language: Language, variant: str) -> Solution:
    """``right``, or the example with its change. Raises ``ValueError`` if the text is not there."""
    problem, _, name = language.example.partition("/")
    packed = load_solution(EXAMPLES / problem / f"solution_{name}.json")
    if variant == "right":
        return packed
    change: Change = getattr(language, variant)
    sources = tuple(
        source.model_copy(update={"content": _changed(source.content, change)})
        if source.path == change.file
        else source
        for source in packed.sources
    )
    return packed.model_copy(update={"name": f"{packed.name}-{variant}", "sources": sources})


def _changed(text: str, change: Change) -> str:
    if change.old not in text:
        raise ValueError(f"'{change.old}' is not in {change.file}")
    return text.replace(change.old, change.new)


def matrix(device: str) -> Iterator[tuple[str, str]]:
    """Language and variant of everything that runs on ``cpu`` or ``cuda``."""
    for name, language in LANGUAGES.items():
        if device in language.devices:
            for variant in ("right", "wrong", "slow", "crash", "broken"):
                yield name, variant
