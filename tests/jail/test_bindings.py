"""Ways into compiled code beside the plain C entry, and languages that are packages."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.jail.conftest import Spawn, layout_of
from tests.jail.test_builders import cache, needs_cpp, needs_nvcc, solution  # noqa: F401

from solbench.errors import BuildError
from solbench.jail import Artifact, Command, Layout, ScalarField, Status, build
from solbench.jail.builders import _packages
from solbench.spec import load_solution

EXAMPLES = Path(__file__).parents[2] / "examples"
LAYOUT = layout_of([("x", (3, 5), "float32")], [("y", (3, 5), "float32")], slots=2)
TVM_FFI = """
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
void twice(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  TVM_FFI_ICHECK(x.size(0) == 3 && x.size(1) == 5) << "another shape";
  for (int i = 0; i < 15; ++i) static_cast<float*>(y.data_ptr())[i] = 2 * static_cast<float*>(x.data_ptr())[i];
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, twice);
"""
TORCH = """
#include <torch/extension.h>
void twice(const torch::Tensor& x, torch::Tensor y) { at::mul_out(y, x, x.new_full({}, 2)); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &twice); }
"""
NUMBA = """
from numba import njit

@njit
def twice(x, y):
    for row in range(x.shape[0]):
        for column in range(x.shape[1]):
            y[row, column] = 2 * x[row, column]

def run(x, y):
    twice(x.numpy(), y.numpy())
"""


def installed(package: str, part: str) -> bool:
    """Without importing the package."""
    found = importlib.util.find_spec(package)
    folders = found.submodule_search_locations if found else None
    return any(Path(folder, part).is_dir() for folder in folders or ())


needs_tvm_ffi = pytest.mark.skipif(
    importlib.util.find_spec("tvm_ffi") is None, reason="no apache-tvm-ffi"
)
needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="no numba")
needs_cutlass = pytest.mark.skipif(
    importlib.util.find_spec("cutlass_library") is None, reason="no nvidia-cutlass"
)
slow = pytest.mark.skipif(
    not os.environ.get("SOLBENCH_SLOW"), reason="half a minute: SOLBENCH_SLOW=1"
)


C_SETUP = """
#include "solbench.h"
static double factor = 0;
extern "C" int setup(const DLTensor* const* inputs, DLTensor* const* outputs,
                     const double* scalars, void* stream) {
  const DLTensor *x = inputs[0], *y = outputs[0];
  if (x->data || y->data || stream) return 7;
  if (x->ndim != 2 || x->shape[0] != 3 || x->strides[0] != 5 || x->strides[1] != 1) return 8;
  if (x->dtype.code != kDLFloat || x->dtype.bits != 32 || x->device.device_type != kDLCPU) return 9;
  factor += scalars[0];
  return FAILURE;
}
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {
  for (int i = 0; i < 15; ++i)
    static_cast<float*>(outputs[0]->data)[i] = factor * static_cast<float*>(inputs[0]->data)[i];
  return 0;
}
"""
TVM_FFI_SETUP = """
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
using namespace tvm::ffi;
static int64_t factor = 0;
void plan(Map<String, Any> inputs) {
  auto x = inputs["x"].cast<Map<String, Any>>();
  TVM_FFI_ICHECK(x["shape"].cast<Array<int64_t>>()[1] == 5);
  TVM_FFI_ICHECK(x["dtype"].cast<DLDataType>().bits == 32);
  factor += inputs["k"].cast<int64_t>();
}
void scale(TensorView x, int64_t, TensorView y) {
  for (int i = 0; i < 15; ++i)
    static_cast<float*>(y.data_ptr())[i] = factor * static_cast<float*>(x.data_ptr())[i];
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(setup, plan);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, scale);
"""
TORCH_SETUP = """
#include <torch/extension.h>
static double factor = 0;
void plan(const py::dict& inputs) {
  TORCH_CHECK(inputs["x"]["shape"].cast<std::vector<int64_t>>() == std::vector<int64_t>({3, 5}));
  factor += inputs["k"].cast<double>();
}
void scale(const torch::Tensor& x, int64_t, torch::Tensor y) { at::mul_out(y, x, x.new_full({}, factor)); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("setup", &plan); m.def("run", &scale); }
"""
SCALED = layout_of(
    [("x", (3, 5), "float32"), ScalarField("k", 2)], [("y", (3, 5), "float32")], slots=2
)


def doubles(spawn: Spawn, artifact: Artifact, layout: Layout = LAYOUT) -> None:
    """Prepared, sealed, and right on both slots."""
    jailed = spawn(layout=layout, artifact=artifact)
    assert jailed.seal().ok, jailed.worker.log_tail()
    for slot in (0, 1):
        jailed.input("x", slot).fill_(slot + 1.25)
        assert jailed.run(slot=slot).ok, jailed.worker.log_tail()
        assert torch.equal(jailed.output("y", slot), torch.full((3, 5), 2 * (slot + 1.25)))


@needs_cpp
@needs_tvm_ffi
def test_a_function_of_tvm_ffi_is_built_and_called(spawn: Spawn) -> None:
    doubles(
        spawn, build(solution("cpp", {"k.cpp": TVM_FFI}, "k.cpp::run", binding="tvm_ffi"), "cpu")
    )


@needs_cpp
@needs_tvm_ffi
def test_what_goes_wrong_in_tvm_ffi_code_is_said(spawn: Spawn) -> None:
    failing = TVM_FFI.replace("x.size(0) == 3", "x.size(0) == 4")
    artifact = build(solution("cpp", {"k.cpp": failing}, "k.cpp::run", binding="tvm_ffi"), "cpu")
    jailed = spawn(layout=LAYOUT, artifact=artifact)
    assert jailed.prepare().status == Status.CALL_RAISED
    assert "another shape" in jailed.worker.log_tail()
    unnamed = TVM_FFI.replace("(run,", "(walk,")
    artifact = build(solution("cpp", {"k.cpp": unnamed}, "k.cpp::run", binding="tvm_ffi"), "cpu")
    jailed = spawn(layout=LAYOUT, artifact=artifact)
    assert jailed.do(Command.LOAD).status == Status.ENTRY_MISSING
    assert "exports no function 'run'" in jailed.worker.log_tail()


@slow
@needs_cpp
@pytest.mark.timeout(300)
def test_a_torch_extension_is_built_and_called(spawn: Spawn) -> None:
    flags = {"cflags": ["-O0"]}
    source = solution("cpp", {"k.cpp": TORCH}, "k.cpp::run", binding="torch", compile_options=flags)
    doubles(spawn, build(source, "cpu"))


@needs_cpp
def test_setup_of_a_c_solution_plans_once_without_memory(spawn: Spawn) -> None:
    """Twice or not at all would scale by another factor than 2."""
    text = C_SETUP.replace("FAILURE", "0")
    doubles(spawn, build(solution("cpp", {"k.cpp": text}, "k.cpp::run"), "cpu"), SCALED)


@needs_cpp
def test_a_c_setup_that_fails_is_named(spawn: Spawn) -> None:
    text = C_SETUP.replace("FAILURE", "31")
    artifact = build(solution("cpp", {"k.cpp": text}, "k.cpp::run"), "cpu")
    jailed = spawn(layout=SCALED, artifact=artifact)
    assert jailed.prepare().status == Status.CALL_RAISED
    assert "setup returned 31" in jailed.worker.log_tail()


@needs_cpp
@needs_tvm_ffi
def test_setup_of_a_tvm_ffi_solution_gets_shapes_and_scalars(spawn: Spawn) -> None:
    source = solution("cpp", {"k.cpp": TVM_FFI_SETUP}, "k.cpp::run", binding="tvm_ffi")
    doubles(spawn, build(source, "cpu"), SCALED)


@slow
@needs_cpp
@pytest.mark.timeout(300)
def test_setup_of_a_torch_extension_gets_shapes_and_scalars(spawn: Spawn) -> None:
    flags = {"cflags": ["-O0"]}
    files = {"k.cpp": TORCH_SETUP}
    source = solution("cpp", files, "k.cpp::run", binding="torch", compile_options=flags)
    doubles(spawn, build(source, "cpu"), SCALED)


@needs_numba
@pytest.mark.timeout(300)
def test_numba_compiles_in_prepare_and_runs_sealed(spawn: Spawn) -> None:
    doubles(spawn, build(solution("numba", {"k.py": NUMBA}, "k.py::run"), "cpu"))


@slow
@needs_nvcc
@needs_tvm_ffi
@needs_cutlass
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", ["swiglu/solution_cuda_tvm_ffi", "linear_fp16/solution_cutlass"])
def test_gpu_examples_build(name: str) -> None:
    artifact = build(load_solution(EXAMPLES / f"{name}.json"), "cuda:0")
    assert Path(artifact.folder, artifact.entry_file).is_file()


def in_a_process_of_its_own(code: str, example: str, **environment: str) -> None:
    """Compile an example's kernels: their packages leave threads and settings behind."""
    folder = str(EXAMPLES / "swiglu" / "solutions" / example)
    script = f"import sys; sys.path.insert(0, {folder!r}); import kernel\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not installed("cutlass", "cute"), reason="no nvidia-cutlass-dsl")
@pytest.mark.timeout(300)
def test_the_cute_dsl_example_compiles_without_a_gpu() -> None:
    code = "assert kernel.planned(4, 300).kernel_info"
    in_a_process_of_its_own(code, "cute_dsl", CUTE_DSL_ARCH="sm_90a")


CUTILE = """
import io, cuda.tile as ct
from cuda.tile import compilation as c
array = lambda: c.ArrayConstraint(
    ct.bfloat16, 3, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
    may_alias_internally=False, stride_constant=(None, None, 1))
signature = c.KernelSignature([array(), array()], c.CallingConvention.cutile_python_v1())
made = io.BytesIO()
c.export_kernel(kernel.activate, [signature], made, gpu_code="sm_90",
                output_format="tileir_bytecode", bytecode_version="13.1")
assert len(made.getvalue()) > 500
"""


@pytest.mark.skipif(not installed("cuda", "tile"), reason="no cuda-tile")
@pytest.mark.timeout(300)
def test_the_cutile_example_becomes_bytecode_without_a_gpu() -> None:
    in_a_process_of_its_own(CUTILE, "cutile")


@slow
@needs_nvcc
@pytest.mark.timeout(300)
def test_the_cudnn_example_builds_where_its_headers_are() -> None:
    try:
        artifact = build(load_solution(EXAMPLES / "linear_fp16/solution_cudnn.json"), "cuda:0")
    except BuildError as error:
        if "no cudnn.h was found" not in str(error):
            raise
        pytest.skip("no cuDNN headers")
    content = Path(artifact.folder, artifact.entry_file).read_bytes()
    assert b"\0setup\0" in content


@pytest.mark.parametrize(
    ("language", "command"),
    [
        ("cute_dsl", "pip install nvidia-cutlass-dsl"),
        ("cutile", r"pip install cuda-tile\[tileiras\]"),
        ("cudnn_frontend", "pip install nvidia-cudnn-frontend"),
        ("numba", "pip install numba"),
    ],
)
def test_a_missing_package_is_named_with_its_command(
    language: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_packages.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BuildError, match=command):
        build(solution(language, {"k.py": "def run(x, y): pass"}, "k.py::run"), "cuda:0")


@pytest.mark.parametrize("language", ["cute_dsl", "cutile", "cudnn_frontend"])
def test_a_language_for_gpus_says_so_on_a_cpu(language: str) -> None:
    with pytest.raises(BuildError, match="needs an NVIDIA GPU"):
        build(solution(language, {"k.py": "def run(x, y): pass"}, "k.py::run"), "cpu")


@needs_nvcc
def test_missing_headers_are_named_with_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_packages.importlib.util, "find_spec", lambda name: None)
    for language, wanted in (("cutlass", "pip install nvidia-cutlass"), ("cudnn", "CUDNN_PATH")):
        with pytest.raises(BuildError, match=wanted):
            build(solution(language, {"k.cu": ""}, "k.cu::run", binding="c"), "cuda:0")


@needs_nvcc
@pytest.mark.timeout(300)
def test_headers_are_found_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "include" / "cutlass").mkdir(parents=True)
    (tmp_path / "include" / "cutlass" / "cutlass.h").write_text("#define ANSWER 42\n")
    monkeypatch.setenv("CUTLASS_PATH", str(tmp_path))
    text = """
#include <cutlass/cutlass.h>
extern "C" int run(const void*, const void*, const double*, void*) { return ANSWER; }
"""
    artifact = build(solution("cutlass", {"k.cu": text}, "k.cu::run", binding="c"), "cuda:0")
    assert Path(artifact.folder, artifact.entry_file).is_file()
    assert shutil.which("g++") is None or artifact.kind == "c"
