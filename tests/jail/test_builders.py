"""From sources to artifacts: real compilers, behind walls."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.jail.conftest import Spawn, layout_of

from solbench.errors import BuildError, DeviceError
from solbench.jail import Artifact, ScalarField, build
from solbench.jail.builders import _cache, _compile
from solbench.jail.builders._flags import checked
from solbench.jail.builders._header import HEADER
from solbench.spec import Solution

_CPP = """
#include "solbench.h"
#include "scale.h"
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs,
                   const double* scalars, void* stream) {
  const DLTensor *x = inputs[0], *n = inputs[1];
  if (x->ndim != 2 || x->dtype.code != kDLFloat || x->dtype.bits != 32 || x->dtype.lanes != 1) return 2;
  if (n->dtype.code != kDLInt || n->dtype.bits != 64 || n->shape[0] != 4) return 3;
  if (x->device.device_type != kDLCPU || x->byte_offset || x->strides[0] != 5 || stream) return 4;
  const float* from = (const float*)x->data;
  float* to = (float*)outputs[0]->data;
  for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) to[i] = scaled(from[i], scalars[0]);
  const int64_t* numbers = (const int64_t*)n->data;
  for (int64_t i = 0; i < 4; ++i) ((int64_t*)outputs[1]->data)[i] = numbers[i] + (int64_t)scalars[1];
  return 0;
}
"""
_SCALE = "inline float scaled(float x, double k) { return x * (float)k; }\n"
_CUDA = """
#include "solbench.h"
#include <cuda_runtime.h>
__global__ void twice(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void* stream) {
  int64_t n = inputs[0]->shape[0];
  twice<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(
      (const float*)inputs[0]->data, (float*)outputs[0]->data, n);
  return cudaGetLastError();
}
"""

needs_cpp = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
needs_nvcc = pytest.mark.skipif(
    shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists(), reason="no nvcc"
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOLBENCH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def solution(language: str, files: dict[str, str], entry: str, **spec: Any) -> Solution:
    return Solution.model_validate(
        {
            "name": "s",
            "definition": "d",
            "author": "a",
            "spec": {
                "languages": [language],
                "target_hardware": ["LOCAL"],
                "entry_point": entry,
                **spec,
            },
            "sources": [{"path": path, "content": text} for path, text in files.items()],
        }
    )


def cpp(text: str = _CPP, **options: Any) -> Solution:
    return solution("cpp", {"k.cpp": text, "scale.h": _SCALE}, "k.cpp::run", **options)


@needs_cpp
def test_a_cpp_solution_runs_through_the_plain_c_entry(spawn: Spawn) -> None:
    layout = layout_of(
        [
            ("x", (3, 5), "float32"),
            ScalarField("k", 2.5),
            ("n", (4,), "int64"),
            ScalarField("m", 7),
        ],
        [("a", (3, 5), "float32"), ("b", (4,), "int64")],
        slots=2,
    )
    jailed = spawn(layout=layout, artifact=build(cpp(), "cpu"))
    assert jailed.seal().ok, jailed.worker.log_tail()
    for slot in (0, 1):
        jailed.input("x", slot).fill_(slot + 1)
        jailed.input("n", slot).fill_(10 * slot)
        reply = jailed.run(slot=slot)
        assert reply.ok, jailed.worker.log_tail()
        assert torch.equal(jailed.output("a", slot), torch.full((3, 5), 2.5 * (slot + 1)))
        assert torch.equal(jailed.output("b", slot), torch.full((4,), 10 * slot + 7))


@needs_cpp
def test_a_non_zero_return_and_a_missing_entry_are_statuses(spawn: Spawn) -> None:
    from solbench.jail import Command, Status

    failing = 'extern "C" int run(const void*, const void*, const double*, void*) { return 42; }'
    jailed = spawn(artifact=build(cpp(failing), "cpu"))
    assert jailed.prepare().status == Status.CALL_RAISED
    assert "returned 42" in jailed.worker.log_tail()
    mangled = "int run(const void*, const void*, const double*, void*) { return 0; }"
    jailed = spawn(artifact=build(cpp(mangled), "cpu"))
    assert jailed.do(Command.LOAD).status == Status.ENTRY_MISSING
    assert 'extern "C"' in jailed.worker.log_tail()


@needs_cpp
def test_a_second_build_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = build(cpp(), "cpu")

    def no_compiler(*_: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(_compile, "compile_into", no_compiler)
    assert build(cpp(), "cpu") == first
    with pytest.raises(AssertionError, match="compiled again"):
        build(cpp(_CPP + "// changed\n"), "cpu")
    with pytest.raises(AssertionError, match="compiled again"):
        build(cpp(compile_options={"cflags": ["-O1"]}), "cpu")


@needs_cpp
def test_a_compile_error_is_the_compilers_first_with_its_line(cache: Path) -> None:
    lines = _CPP.replace("to[i] =", "too[i] =").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "too[i]" in text)
    with pytest.raises(BuildError) as caught:
        build(cpp("\n".join(lines)), "cpu")
    assert caught.value.first_error.startswith(f"k.cpp:{line}: ")
    assert "too" in caught.value.first_error
    assert "\n" not in caught.value.first_error
    assert list(cache.glob("artifacts/.staging-*")) == []


@needs_cpp
@pytest.mark.parametrize("path", ["/etc/passwd", __file__, "/proc/1/environ"])
def test_the_compiler_reads_nothing_outside(path: str, layers: dict[str, str]) -> None:
    if layers["landlock"]:
        pytest.skip("this machine lacks landlock")
    stolen = f'asm(".incbin \\"{path}\\"");\n'
    with pytest.raises(BuildError) as caught:
        build(cpp(stolen + _CPP), "cpu")
    assert f"file not found: {path}" in caught.value.log  # what the assembler says of any failure
    with pytest.raises(BuildError, match="Permission denied"):
        build(cpp(f'#include "{path}"\n' + _CPP), "cpu")


@needs_cpp
def test_a_compiler_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    text = """
        template<int a, int b> struct F {
          static constexpr long v = F<a - 1, b>::v + F<a - 1, b + 1>::v;
        };
        template<int b> struct F<0, b> { static constexpr long v = b; };
        long x = F<800, 0>::v;
    """
    compiler = shutil.which("g++")
    assert compiler
    command = (compiler, "-std=c++20", "-shared", "-fPIC", "./k.cpp", "-o", "{output}")
    with pytest.raises(BuildError, match="did not finish in 1 s"):
        _compile.compile_into(tmp_path, _compile.Compilation(command, {"k.cpp": text}, timeout_s=1))
    assert not any("k.cpp" in text for text in _command_lines())


def test_a_compilers_memory_and_output_are_bounded(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", "ulimit -v; yes error: flood | head -c 3000000; exit 1")
    with pytest.raises(BuildError) as caught:
        _compile.compile_into(tmp_path, _compile.Compilation(command, {"k.cpp": ""}))
    assert caught.value.log.startswith(f"{16 << 20}\n")
    assert len(caught.value.log) == 256 << 10
    assert caught.value.first_error == "error: flood"


def test_a_compiler_that_writes_without_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_compile, "_SCRATCH_BYTES", 1 << 20)
    script = "head -c 3000000 /dev/zero > $TMPDIR/large; sleep 60"
    command = ("/bin/sh", "-c", script)
    with pytest.raises(BuildError, match="GiB of files"):
        _compile.compile_into(tmp_path, _compile.Compilation(command, {"k.cpp": ""}))


def test_a_large_shared_object_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compile, "_OBJECT_BYTES", 2 << 20)
    command = ("/bin/sh", "-c", 'head -c 3145728 /dev/zero > "$0"', "{output}")
    with pytest.raises(BuildError, match="has 3 MiB; it may have 2"):
        _compile.compile_into(tmp_path, _compile.Compilation(command, {"k.cpp": ""}))
    assert not list(tmp_path.iterdir())


def test_what_a_compiler_leaves_running_is_ended(tmp_path: Path) -> None:
    script = "sleep 4321 >/dev/null 2>&1 & exit 1"
    with pytest.raises(BuildError):
        _compile.compile_into(
            tmp_path, _compile.Compilation(("/bin/sh", "-c", script), {"k.cpp": ""})
        )
    assert not any(path.read_bytes().split(b"\0")[1:2] == [b"4321"] for path in _living())


def test_a_compiler_that_shuts_its_output_is_waited_for_no_longer_than_it_may_take(
    tmp_path: Path,
) -> None:
    command = ("/bin/sh", "-c", "exec >/dev/null 2>&1; sleep 60")
    with pytest.raises(BuildError, match="did not finish in 1 s"):
        _compile.compile_into(tmp_path, _compile.Compilation(command, {"k.cpp": ""}, timeout_s=1))


def test_a_source_may_have_any_name(tmp_path: Path) -> None:
    texts = {
        "k.cpp": "",
        "_solbench": "",
        "include/solbench.h": "#error not this one",
        "scratch/x": "",
    }
    command = ("/bin/sh", "-c", 'cp "$1/solbench.h" "$0"', "{output}", "{include}")
    _compile.compile_into(tmp_path, _compile.Compilation(command, texts))
    assert (tmp_path / _compile.OUTPUT_NAME).read_text() == HEADER


def _living() -> list[Path]:
    """Command lines of the processes that can be read."""
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]


def _command_lines() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().decode()
        except OSError:
            continue
        if "cc1plus" in text:
            found.append(text)
    return found


@needs_cpp
def test_concurrent_builds_of_one_solution_agree(cache: Path) -> None:
    made: list[Artifact] = []
    threads = [threading.Thread(target=lambda: made.append(build(cpp(), "cpu"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 3 and len(set(made)) == 1
    assert [path.name for path in (cache / "artifacts").iterdir()] == [made[0].digest]


_BUILDER = """
import sys
from solbench.jail import build
from solbench.spec import Solution
source = Solution.model_validate_json(sys.stdin.read())
print(build(source, "cpu").folder)
"""


@needs_cpp
def test_processes_that_build_one_solution_leave_one_whole_artifact(cache: Path) -> None:
    """The environment's cache folder is theirs too; a gate would only hide an overlap."""
    command = [sys.executable, "-c", _BUILDER]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    builders = [subprocess.Popen(command, **pipes) for _ in range(3)]
    text = cpp().model_dump_json()
    for builder in builders:
        builder.stdin.write(text)  # type: ignore[union-attr]
        builder.stdin.close()  # type: ignore[union-attr]
    told = set()
    for builder in builders:
        with builder.stdout as output:  # type: ignore[union-attr]
            told.add(output.read().strip())
        assert builder.wait() == 0
    (folder,) = (cache / "artifacts").iterdir()
    assert told == {str(folder)}
    assert [file.name for file in folder.iterdir()] == [_compile.OUTPUT_NAME]
    assert ctypes.CDLL(str(folder / _compile.OUTPUT_NAME)).run


@needs_cpp
def test_a_compilers_output_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "made").symlink_to("/etc/passwd")
    with pytest.raises(BuildError, match="no ordinary file"):
        _compile._collect(tmp_path / "made", tmp_path / "target", "")


@needs_nvcc
def test_cuda_builds_to_a_shared_object_with_the_entry() -> None:
    source = solution("cuda_cpp", {"k.cu": _CUDA}, "k.cu::run", binding="c", compile_options={})
    artifact = build(source, "cpu")
    library = ctypes.CDLL(str(Path(artifact.folder, artifact.entry_file)))
    assert library.run
    assert artifact.kind == "c"
    content = Path(artifact.folder, artifact.entry_file).read_bytes()
    assert b"sm_90a" in content
    with pytest.raises(BuildError) as caught:
        build(
            solution("cuda_cpp", {"k.cu": _CUDA + "int q = ;\n"}, "k.cu::run", binding="c"), "cpu"
        )
    assert caught.value.first_error.startswith(f"k.cu:{len(_CUDA.splitlines()) + 1}: ")


@pytest.mark.parametrize(
    ("hardware", "flags", "expected"),
    [
        (["B200"], (), "sm_100a"),
        (["h100"], (), "sm_90a"),
        (["LOCAL"], (), "sm_90a"),
        (["B200"], ("-gencode", "arch=compute_90a,code=sm_90a"), "sm_90a"),
    ],
)
def test_the_architecture_follows_the_target_unless_a_flag_names_one(
    hardware: list[str], flags: tuple[str, ...], expected: str
) -> None:
    from solbench.jail.builders import cuda_cpp

    source = solution("cuda_cpp", {"k.cu": ""}, "k.cu::run", binding="c")
    spec = source.spec.model_copy(
        update={
            "target_hardware": tuple(hardware),
            "compile_options": None if not flags else _options(cuda_cflags=flags),
        }
    )
    given = cuda_cpp._flags(source.model_copy(update={"spec": spec}), "cpu")
    assert [flag for flag in given if "sm_" in flag] == [
        f"arch=compute_{expected[3:]},code={expected}"
    ]


def _options(**given: Any) -> Any:
    from solbench.spec import CompileOptions

    return CompileOptions.model_validate(given)


@pytest.mark.parametrize(
    ("kind", "flag"),
    [
        ("cflags", "-fplugin=x.so"),
        ("cflags", "-o/etc/x"),
        ("cflags", "@file"),
        ("cflags", "-I/etc"),
        ("cflags", "-I../x"),
        ("cflags", "-Wl,-rpath"),
        ("cflags", "-specs=x"),
        ("cuda_cflags", "-ccbin=/tmp/x"),
        ("cuda_cflags", "--run"),
        ("ld_flags", "-L/tmp"),
        ("ld_flags", "/etc/passwd"),
    ],
)
def test_flags_that_reach_outside_are_refused(kind: str, flag: str) -> None:
    with pytest.raises(BuildError, match="not allowed"):
        checked([flag], kind)


@pytest.mark.parametrize(
    ("kind", "flag"),
    [
        ("cflags", "-O2"), ("cflags", "-mavx2"), ("cflags", "-ffast-math"), ("cflags", "-DN=3"),
        ("cflags", "-std=c++17"), ("cflags", "-fopenmp"), ("cflags", "-Wall"), ("cflags", "-Iinc"),
        ("cuda_cflags", "--use_fast_math"), ("cuda_cflags", "-O3"), ("cuda_cflags", "-arch=sm_90a"),
        ("cuda_cflags", "-gencode=arch=compute_100a,code=sm_100a"), ("cuda_cflags", "--maxrregcount=64"),
        ("cuda_cflags", "-std=c++17"), ("ld_flags", "-lcublas"), ("ld_flags", "-L/usr/local/cuda/lib64"),
    ],
)  # fmt: skip
def test_ordinary_flags_pass(kind: str, flag: str) -> None:
    assert checked([flag], kind) == (flag,)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("In file a.h:1:\nk.cpp:7:3: error: no 'x'\nk.cpp:9:1: error: y", "k.cpp:7: no 'x'"),
        ("k.cpp:7:3: warning: error-prone\nk.cpp:8: fatal error: q.h: gone", "k.cpp:8: q.h: gone"),
        ("k.cu(12): error: expected a ;\n1 error", "k.cu:12: expected a ;"),
        ("x.o: in `run':\nk.cpp:1: undefined reference to `f'", "k.cpp:1: undefined reference to `f'"),
        ("ld: cannot find -lfoo\ncollect2: error: ld returned 1", "ld: cannot find -lfoo"),
        ("nvcc fatal   : Unknown option", "nvcc fatal   : Unknown option"),
        ("a\nlast words\n", "last words"),
        ("", "the compiler failed without a message"),
    ],
)  # fmt: skip
def test_the_first_error_is_found(log: str, expected: str) -> None:
    assert _compile.first_error(log) == expected


def test_python_sources_become_a_folder_named_by_their_content() -> None:
    files = {"pkg/k.py": "def run(x):\n    return x\n", "pkg/h.py": "one = 1\n"}
    first = build(
        solution("pytorch", files, "pkg/k.py::run", destination_passing_style=False), "cpu"
    )
    assert (first.kind, first.entry_file, first.destination_passing) == (
        "python",
        "pkg/k.py",
        False,
    )
    assert Path(first.folder, "pkg/h.py").read_text() == "one = 1\n"
    assert build(solution("pytorch", files, "pkg/k.py::run"), "cpu").digest == first.digest
    changed = files | {"pkg/h.py": "one = 2\n"}
    assert build(solution("pytorch", changed, "pkg/k.py::run"), "cpu").digest != first.digest


def test_triton_runs_in_the_interpreter_only_on_a_cpu() -> None:
    source = solution("triton", {"k.py": ""}, "k.py::run")
    assert build(source, "cpu").triton_interpreter
    assert not build(source, "cuda:0").triton_interpreter


@pytest.mark.parametrize(
    ("source", "device", "message"),
    [
        (solution("cpp", {"k.cpp": ""}, "k.cpp::run"), "cuda:0", "CPUs only"),
        (solution("cpp", {"k.h": ""}, "k.h::run"), "cpu", "no source ends in"),
    ],
)
def test_what_cannot_be_built_says_so(source: Solution, device: str, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        build(source, device)


def test_a_source_outside_the_folder_is_refused() -> None:
    source = solution("pytorch", {"k.py": ""}, "k.py::run")
    for path in ("../k.py", "/tmp/k.py"):
        bad = source.model_copy(
            update={"sources": (source.sources[0].model_copy(update={"path": path}),)}
        )
        bad = bad.model_copy(
            update={"spec": bad.spec.model_copy(update={"entry_point": f"{path}::run"})}
        )
        with pytest.raises(BuildError, match="leaves"):
            build(bad, "cpu")


def test_the_cache_folder_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOLBENCH_CACHE_DIR", str(tmp_path / "mine"))
    assert _cache.cache_root() == tmp_path / "mine"
    monkeypatch.delenv("SOLBENCH_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert _cache.cache_root() == tmp_path / "xdg" / "solbench"


def test_a_cache_that_cannot_be_written_is_a_fault_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    monkeypatch.setenv("SOLBENCH_CACHE_DIR", str(in_the_way / "cache"))
    with pytest.raises(DeviceError, match=r"cache cannot be written: Not a directory.*CACHE_DIR"):
        _cache.stored("name", lambda folder: None)
    monkeypatch.setenv("SOLBENCH_CACHE_DIR", str(tmp_path))

    def fill(folder: Path) -> None:
        (folder / "source").write_text("x")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DeviceError, match="No space left on device"):
        _cache.stored("name", fill)
    assert list((tmp_path / "artifacts").iterdir()) == []
