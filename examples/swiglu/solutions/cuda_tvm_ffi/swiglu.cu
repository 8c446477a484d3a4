// One fused pass with 16-byte loads, called through TVM FFI.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int PACK = 8;  // bfloat16 values of one 16-byte load

struct alignas(16) Pack { __nv_bfloat16 item[PACK]; };

__global__ void __launch_bounds__(THREADS)
swiglu(const Pack* gate_up, Pack* result, int packs) {
    const int index = blockIdx.x * THREADS + threadIdx.x;
    if (index >= packs) return;
    const int64_t row = blockIdx.y;
    const Pack gate = gate_up[2 * row * packs + index];
    const Pack up = gate_up[(2 * row + 1) * packs + index];
    Pack out;
    for (int lane = 0; lane < PACK; ++lane) {
        const float value = __bfloat162float(gate.item[lane]);
        const float activated = value / (1.0f + __expf(-value));
        out.item[lane] = __float2bfloat16(activated * __bfloat162float(up.item[lane]));
    }
    result[row * packs + index] = out;
}

using tvm::ffi::TensorView;

void activate(TensorView gate_up, TensorView output) {
    const int64_t tokens = output.size(0), width = output.size(1);
    TVM_FFI_ICHECK(width % PACK == 0 && tokens <= 65535) << "a shape that this kernel does not take";
    const int packs = static_cast<int>(width / PACK);
    const dim3 grid((packs + THREADS - 1) / THREADS, static_cast<unsigned>(tokens));
    const DLDevice device = gate_up.device();
    const auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
    swiglu<<<grid, THREADS, 0, stream>>>(
        static_cast<const Pack*>(gate_up.data_ptr()), static_cast<Pack*>(output.data_ptr()), packs);
    TVM_FFI_ICHECK(cudaGetLastError() == cudaSuccess) << "the launch failed";
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, activate);
