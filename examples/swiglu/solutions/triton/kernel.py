"""One fused pass; a program takes a block of columns of one row."""

import triton
import triton.language as tl


@triton.jit
def swiglu(gate_up, result, width, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * block + tl.arange(0, block)
    inside = columns < width
    gate = tl.load(gate_up + row * 2 * width + columns, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + (row * 2 + 1) * width + columns, mask=inside, other=0.0).to(tl.float32)
    activated = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(result + row * width + columns, activated.to(tl.bfloat16), mask=inside)


def run(gate_up, output):
    tokens, width = output.shape
    block = 2048
    swiglu[(tokens, triton.cdiv(width, block))](gate_up, output, width, block)
