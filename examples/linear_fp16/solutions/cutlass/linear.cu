// A product of CUTLASS's 2.x kind, which every chip since Ampere runs: blocks of 128 x 128, three stages.
#include "solbench.h"

#include <cutlass/gemm/device/gemm.h>

using Half = cutlass::half_t;
using Rows = cutlass::layout::RowMajor;
using Columns = cutlass::layout::ColumnMajor;
using Product = cutlass::gemm::device::Gemm<
    Half, Rows, Half, Columns, Half, Rows, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<128, 128, 32>, cutlass::gemm::GemmShape<64, 64, 32>,
    cutlass::gemm::GemmShape<16, 8, 16>, cutlass::epilogue::thread::LinearCombination<Half, 8, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3>;

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void* stream) {
    const int rows = static_cast<int>(inputs[0]->shape[0]), depth = static_cast<int>(inputs[0]->shape[1]);
    const int width = static_cast<int>(inputs[1]->shape[0]);
    const auto* tokens = static_cast<const Half*>(inputs[0]->data);
    const auto* weight = static_cast<const Half*>(inputs[1]->data);
    auto* output = static_cast<Half*>(outputs[0]->data);
    Product product;
    const Product::Arguments arguments(
        {rows, width, depth}, {tokens, depth}, {weight, depth}, {output, width}, {output, width}, {1.0f, 0.0f});
    return static_cast<int>(product(arguments, nullptr, static_cast<cudaStream_t>(stream)));
}
