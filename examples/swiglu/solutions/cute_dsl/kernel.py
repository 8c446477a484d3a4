# One fused pass in CuTe DSL, a thread a value; compiled for a shape in setup and kept.
import cuda.bindings.driver as driver
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor, make_fake_stream

THREADS = 256
compiled = {}


@cute.kernel
def activate(gate_up: cute.Tensor, output: cute.Tensor):
    block, row, _ = cute.arch.block_idx()
    thread, _, _ = cute.arch.thread_idx()
    column = block * THREADS + thread
    width = output.shape[1]
    if column < width:
        gate = gate_up[row, column].to(cutlass.Float32)
        up = gate_up[row, width + column].to(cutlass.Float32)
        result = gate / (1.0 + cute.exp(-gate)) * up
        output[row, column] = result.to(cutlass.BFloat16)


@cute.jit
def launch(gate_up: cute.Tensor, output: cute.Tensor, stream: driver.CUstream):
    rows, width = output.shape
    grid = [cute.ceil_div(width, THREADS), rows, 1]
    activate(gate_up, output).launch(grid=grid, block=[THREADS, 1, 1], stream=stream)


def planned(rows, width):
    gate_up = make_fake_compact_tensor(cutlass.BFloat16, (rows, 2 * width), stride_order=(1, 0))
    output = make_fake_compact_tensor(cutlass.BFloat16, (rows, width), stride_order=(1, 0))
    return cute.compile(launch, gate_up, output, make_fake_stream())


def setup(inputs):
    rows, both = inputs["gate_up"]["shape"]
    compiled[rows, both // 2] = planned(rows, both // 2)


def run(gate_up, output):
    key = tuple(output.shape)
    if key not in compiled:
        compiled[key] = planned(*key)
    stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
    compiled[key](from_dlpack(gate_up), from_dlpack(output), stream)
