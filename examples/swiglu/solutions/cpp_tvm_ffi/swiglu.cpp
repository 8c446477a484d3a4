// One fused pass, called through TVM FFI.
#include <cmath>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

#include "bf16.h"

using tvm::ffi::TensorView;

void activate(TensorView gate_up, TensorView output) {
    const int64_t tokens = output.size(0), width = output.size(1);
    const auto* from = static_cast<const uint16_t*>(gate_up.data_ptr());
    auto* to = static_cast<uint16_t*>(output.data_ptr());
    for (int64_t token = 0; token < tokens; ++token, from += 2 * width, to += width)
        for (int64_t column = 0; column < width; ++column) {
            const float gate = widen(from[column]);
            to[column] = narrow(gate / (1.0f + std::exp(-gate)) * widen(from[width + column]));
        }
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, activate);
