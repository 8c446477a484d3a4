"""What compilers really said, and what an author is told of it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from tests.jail.conftest import Spawn, layout_of
from tests.jail.test_builders import cache, solution  # noqa: F401

from solbench.jail import Status, build
from solbench.jail._headline import headline
from solbench.jail.builders import _compile

COMPILED = {
    "g++, in a template of a header": (
        """
        In file included from ./k.cpp:1:
        ./ok.h: In instantiation of ‘T pick(T) [with T = int]’:
        ./k.cpp:2:24:   required from here
        ./ok.h:1:51: error: request for member ‘missing’ in ‘value’, which is of non-class type ‘int’
            1 | template <class T> T pick(T value) { return value.missing; }
              |                                             ~~~~~~^~~~~~~
        """,
        "ok.h:1: request for member ‘missing’ in ‘value’, which is of non-class type ‘int’",
    ),
    "the linker": (
        """
        /usr/bin/ld: /tmp/cckdTBKM.o: in function `run':
        link.cpp:(.text+0xa): undefined reference to `other(int)'
        collect2: error: ld returned 1 exit status
        """,
        "link.cpp:(.text+0xa): undefined reference to `other(int)'",
    ),
    "the assembler": (
        """
        ./k.cu: Assembler messages:
        ./k.cu:1: Error: no such instruction: `bogus_op'
        """,
        "k.cu:1: no such instruction: `bogus_op'",
    ),
    "nvcc, on code of the host": (
        """
        ./host.cu(2): error: too many arguments in function call
          extern "C" int run(float* x) { k<<<1, 1>>>(x, 2); int unfinished = ; return 0; }
                                                        ^

        ./host.cu(2): error: expected an expression
        2 errors detected in the compilation of "./host.cu".
        """,
        "host.cu:2: too many arguments in function call",
    ),
    "nvcc, on code of the device": (
        """
        ./k.cu(2): error: calling a __host__ function("host_only(int)") from a __global__ function("k")

        ./k.cu(2): error: identifier "host_only" is undefined in device code
        """,
        'k.cu:2: calling a __host__ function("host_only(int)") from a __global__ function("k")',
    ),
    "ptxas, on inline assembly": (
        """
        ptxas /tmp/tmpxft_00001a93_00000000-6_ptxas.ptx, line 27; error   : Unknown modifier '.such'
        ptxas fatal   : Ptx assembly aborted due to errors
        """,
        "PTX line 27: Unknown modifier '.such'",
    ),
    "ptxas, on a limit": (
        """
        ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x61a80 bytes, 0x38c00 max)
        """,
        "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x61a80 bytes, 0x38c00 max)",
    ),
    "ptxas, on a missing function": (
        "ptxas fatal   : Unresolved extern function '_Z1ff'",
        "ptxas fatal   : Unresolved extern function '_Z1ff'",
    ),
    "nvcc, on a flag": (
        "nvcc fatal   : Unsupported gpu architecture 'compute_12'",
        "nvcc fatal   : Unsupported gpu architecture 'compute_12'",
    ),
}  # fmt: skip

FILE = """
import triton.language as tl

@triton.jit
def twice(x, y, n: tl.constexpr):
    i = tl.arange(0, n)
    value = tl.load(x + i)
    tl.store(y + i, tl.no_such_thing(value))
"""
RAISED = {
    "Numba": (
        """\
        Failed in nopython mode pipeline (step: nopython frontend)
        Unknown attribute 'nothing' of type float64

        File "{parent}/kernel.py", line 7:
        def twice(x, y):
            <source elided>
            for row in range(x.shape[0]):
                y[row] = x[row].nothing(2)
                ^

        During: typing of get attribute at {folder}/kernel.py (7)
        """,
        "kernel.py:7: RuntimeError: Unknown attribute 'nothing' of type float64",
    ),
    "Triton": (
        """\
        at 4:20:
        def twice(x, y, n: tl.constexpr):
            i = tl.arange(0, n)
            value = tl.load(x + i)
            tl.store(y + i, tl.no_such_thing(value))
                            ^
        AttributeError("module 'triton.language' has no attribute 'no_such_thing'")
        """,
        "kernel.py:8: RuntimeError: "
        "AttributeError(\"module 'triton.language' has no attribute 'no_such_thing'\")",
    ),
    "torch.compile, which quotes the stack of the user": (
        """\
        Data-dependent branching
          Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).

              The branch condition involves a tensor computed as follows:
                # File "{folder}/kernel.py", line 3, in twice, code: total = x.sum()

        from user code:
           File "{folder}/kernel.py", line 5, in run
            return twice(x)
           File "{folder}/kernel.py", line 6, in twice
            if x.sum() > 0:
               ^^^^^^^^^^^^

        Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace
        """,
        "kernel.py:6: RuntimeError: Data-dependent branching "
        "Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).",
    ),
    "a library, about a file of its own": (
        'one\nFile "/usr/lib/python3/dist-packages/other.py", line 7',
        "RuntimeError: one",
    ),
    "nobody": ("", "RuntimeError: no message"),
}


@pytest.mark.parametrize("case", COMPILED)
def test_the_first_error_of_a_compiler_is_told_with_its_line(case: str) -> None:
    log, expected = COMPILED[case]
    assert _compile.first_error(textwrap.dedent(log).lstrip()) == expected


@pytest.mark.parametrize("case", RAISED)
def test_the_first_error_of_a_compiler_of_python_is_told_with_its_line(
    case: str, tmp_path: Path
) -> None:
    message, expected = RAISED[case]
    folder = tmp_path / "artifact"
    folder.mkdir()
    (folder / "kernel.py").write_text(FILE)
    text = textwrap.dedent(message).format(folder=folder, parent="../artifact")
    assert headline(RuntimeError(text), folder) == expected


def test_an_exception_is_placed_where_the_solution_raised_its_cause(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(
        "def inner():\n    return 1 / 0\n\ndef run():\n    inner()\n"
    )
    scope: dict[str, object] = {}
    exec(compile((tmp_path / "kernel.py").read_text(), str(tmp_path / "kernel.py"), "exec"), scope)
    with pytest.raises(ZeroDivisionError) as caught:
        scope["run"]()  # type: ignore[operator]
    assert headline(caught.value, tmp_path) == "kernel.py:2: ZeroDivisionError: division by zero"
    wrapped = RuntimeError("the interpreter failed")
    wrapped.__cause__ = caught.value
    assert headline(wrapped, tmp_path) == "kernel.py:2: ZeroDivisionError: division by zero"
    assert headline(caught.value, tmp_path / "other") == "ZeroDivisionError: division by zero"


def test_a_long_line_that_speaks_of_errors_without_end_is_read_once() -> None:
    log = "x(1): " + "error " * 40_000
    assert _compile.first_error(log) == log.strip()


def test_causes_that_form_a_ring_end(tmp_path: Path) -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert headline(first, tmp_path) == "ValueError: a"


def test_the_worker_says_it_before_the_traceback(spawn: Spawn) -> None:
    files = {"kernel.py": "def run(x, y):\n    raise ValueError('not mine')\n"}
    layout = layout_of([("x", (2,), "float32")], [("y", (2,), "float32")])
    jailed = spawn(
        layout=layout, artifact=build(solution("pytorch", files, "kernel.py::run"), "cpu")
    )
    assert jailed.prepare().status == Status.CALL_RAISED
    first, second = jailed.worker.log_tail().splitlines()[:2]
    assert first == "kernel.py:2: ValueError: not mine"
    assert second.startswith("Traceback")
