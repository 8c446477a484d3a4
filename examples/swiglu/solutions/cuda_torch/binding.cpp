// What torch sees: checks and the current stream.
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

cudaError_t launch(const void* gate_up, void* output, int64_t tokens, int64_t width, cudaStream_t stream);

void activate(const torch::Tensor& gate_up, const torch::Tensor& output) {
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
    const auto code = launch(gate_up.data_ptr(), output.data_ptr(), output.size(0), output.size(1), stream);
    TORCH_CHECK(code == cudaSuccess, cudaGetErrorString(code));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("run", &activate); }
