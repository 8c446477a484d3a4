"""Starts in the languages that are compiled, by how they are entered."""

from __future__ import annotations

from collections.abc import Callable

from solbench.starter._parameters import Parameters

Text = Callable[[Parameters], dict[str, str]]

_KERNEL = """static __global__ void fill(unsigned char* data, int64_t bytes) {
    const int64_t at = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (at < bytes) data[at] = 0;
}
"""
_LAUNCH = "fill<<<(unsigned)((bytes + 255) / 256), 256, 0, {stream}>>>({data}, bytes);"


def cpp(binding: str) -> Text:
    """C++ for CPUs."""
    return {"c": _cpp_c, "tvm_ffi": _cpp_tvm_ffi, "torch": _cpp_torch}[binding]


def cuda(binding: str, header: str = "") -> Text:
    """CUDA C++; ``header``: a library's, included in what nvcc compiles."""
    include = f"#include <{header}>\n" if header else ""
    made = {"c": _cuda_c, "tvm_ffi": _cuda_tvm_ffi, "torch": _cuda_torch}[binding]
    return lambda parameters: made(parameters, include)


def _cpp_c(parameters: Parameters) -> dict[str, str]:
    text = f"""#include "solbench.h"

#include <cstring>

{_C_BYTES}
{_C_SIGNATURE}
{_c_places(parameters)}
    for (int number = 0; number < {len(parameters.outputs)}; ++number)
        std::memset(outputs[number]->data, 0, bytes_of(outputs[number]));  // not written yet
    return 0;
}}
"""
    return {"kernel.cpp": text}


def _cuda_c(parameters: Parameters, include: str) -> dict[str, str]:
    launch = _LAUNCH.format(
        stream="(cudaStream_t)stream", data="(unsigned char*)outputs[number]->data"
    )
    text = f"""#include "solbench.h"

#include <cuda_runtime.h>
{include}
{_KERNEL}
{_C_BYTES}
{_C_SIGNATURE}
{_c_places(parameters)}
    for (int number = 0; number < {len(parameters.outputs)}; ++number) {{
        const int64_t bytes = bytes_of(outputs[number]);
        {launch}  // not written yet
    }}
    return cudaGetLastError();
}}
"""
    return {"kernel.cu": text}


def _cpp_tvm_ffi(parameters: Parameters) -> dict[str, str]:
    lines = [
        f"    std::memset({each.name}.data_ptr(), 0, bytes_of({each.name}));  // not written yet"
        for each in parameters.outputs
    ]
    text = f"""#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

#include <cstring>

using tvm::ffi::TensorView;

{_FFI_BYTES}
{_entry(parameters, "TensorView")}
{_joined(lines)}
}}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, entry);
"""
    return {"kernel.cpp": text}


def _cuda_tvm_ffi(parameters: Parameters, include: str) -> dict[str, str]:
    first = parameters.outputs[0].name
    launch = _LAUNCH.format(stream="stream", data="(unsigned char*)output.data_ptr()")
    calls = [f"    write({each.name}, stream);  // not written yet" for each in parameters.outputs]
    text = f"""#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cuda_runtime.h>
{include}
using tvm::ffi::TensorView;

{_KERNEL}
{_FFI_BYTES}
static void write(TensorView output, cudaStream_t stream) {{
    const int64_t bytes = bytes_of(output);
    {launch}
    TVM_FFI_ICHECK(cudaGetLastError() == cudaSuccess) << "the launch failed";
}}

{_entry(parameters, "TensorView")}
    const DLDevice device = {first}.device();
    const auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
{_joined(calls)}
}}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, entry);
"""
    return {"kernel.cu": text}


def _cpp_torch(parameters: Parameters) -> dict[str, str]:
    lines = [
        f"    std::memset({each.name}.data_ptr(), 0, {each.name}.nbytes());  // not written yet"
        for each in parameters.outputs
    ]
    text = f"""// Of torch's headers only these: all of torch/extension.h takes three times as long to compile.
#include <ATen/core/Tensor.h>
#include <cstring>
#include <torch/csrc/utils/pybind.h>

{_entry(parameters, "const at::Tensor&")}
{_joined(lines)}
}}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {{ module.def("run", &entry); }}
"""
    return {"kernel.cpp": text}


def _cuda_torch(parameters: Parameters, include: str) -> dict[str, str]:
    calls = [
        f"    check(launch({each.name}.data_ptr(), {each.name}.nbytes(), stream));  // not written yet"
        for each in parameters.outputs
    ]
    binding = f"""// What torch sees. Its headers stay out of what nvcc compiles, and only these:
// all of torch/extension.h takes three times as long.
#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/utils/pybind.h>

cudaError_t launch(void* data, int64_t bytes, cudaStream_t stream);

static void check(cudaError_t code) {{ TORCH_CHECK(code == cudaSuccess, cudaGetErrorString(code)); }}

{_entry(parameters, "const at::Tensor&")}
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
{_joined(calls)}
}}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {{ module.def("run", &entry); }}
"""
    launch = _LAUNCH.format(stream="stream", data="(unsigned char*)data")
    kernel = f"""#include <cstdint>
#include <cuda_runtime.h>
{include}
{_KERNEL}
cudaError_t launch(void* data, int64_t bytes, cudaStream_t stream) {{
    {launch}
    return cudaGetLastError();
}}
"""
    return {"binding.cpp": binding, "kernel.cu": kernel}


_C_BYTES = """static int64_t bytes_of(const DLTensor* tensor) {
    int64_t bits = (int64_t)tensor->dtype.bits * tensor->dtype.lanes;
    for (int axis = 0; axis < tensor->ndim; ++axis) bits *= tensor->shape[axis];
    return (bits + 7) / 8;
}
"""
_C_SIGNATURE = (
    'extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, '
    "const double* scalars, void* stream) {"
)
_FFI_BYTES = """static int64_t bytes_of(TensorView tensor) {
    int64_t bits = (int64_t)tensor.dtype().bits * tensor.dtype().lanes;
    for (int axis = 0; axis < tensor.ndim(); ++axis) bits *= tensor.size(axis);
    return (bits + 7) / 8;
}
"""


def _c_places(parameters: Parameters) -> str:
    """Where each parameter is found in the plain C call."""
    tensors = [each for each in parameters.inputs if each.is_tensor]
    numbers = [each for each in parameters.inputs if not each.is_tensor]
    rows = [f"    // inputs[{i}]: {p.name}, {p.about}" for i, p in enumerate(tensors)]
    rows += [f"    // scalars[{i}]: {p.name}, {p.about}" for i, p in enumerate(numbers)]
    rows += [f"    // outputs[{i}]: {p.name}, {p.about}" for i, p in enumerate(parameters.outputs)]
    return _joined(rows)


def _entry(parameters: Parameters, tensor: str) -> str:
    arguments = ", ".join(
        f"{tensor if each.is_tensor else each.cpp_scalar} {each.name}" for each in parameters.all
    )
    return f"{parameters.described('//')}\nstatic void entry({arguments}) {{"


def _joined(lines: list[str]) -> str:
    return "\n".join(lines)
