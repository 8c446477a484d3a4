"""Starts in the languages that are Python."""

from __future__ import annotations

from solbench.starter._parameters import Parameters

FILE = "kernel.py"

_SETUP = '''
def setup(inputs):
    """Plan and compile here: it is run before inputs exist, and never timed."""
    print("not written yet: gives zeros")

'''


def pytorch(parameters: Parameters) -> dict[str, str]:
    body = "\n".join(f"    bytes_of({each.name}).zero_()" for each in parameters.outputs)
    return {FILE: f"import torch\n\n{_BYTES}{_SETUP}\n{_run(parameters, body)}"}


def cudnn_frontend(parameters: Parameters) -> dict[str, str]:
    body = "\n".join(f"    bytes_of({each.name}).zero_()" for each in parameters.outputs)
    head = "import cudnn\nimport torch\n\nassert cudnn.backend_version()\n"
    return {FILE: f"{head}\n{_BYTES}{_SETUP}\n{_run(parameters, body)}"}


def triton(parameters: Parameters) -> dict[str, str]:
    body = "\n".join(
        f"    data = bytes_of({each.name})\n"
        f"    fill[(triton.cdiv(data.numel(), BLOCK),)](data, data.numel(), BLOCK=BLOCK)"
        for each in parameters.outputs
    )
    return {FILE: _TRITON + _BYTES + _SETUP + "\n" + _run(parameters, body)}


def numba(parameters: Parameters) -> dict[str, str]:
    body = "\n".join(f"    fill(bytes_of({each.name}).numpy())" for each in parameters.outputs)
    return {FILE: _NUMBA + _BYTES + _SETUP + "\n" + _run(parameters, body)}


def cute_dsl(parameters: Parameters) -> dict[str, str]:
    body = "\n".join(f"    zero(bytes_of({each.name}))" for each in parameters.outputs)
    return {FILE: _CUTE + _BYTES + _SETUP + "\n" + _run(parameters, body)}


def cutile(parameters: Parameters) -> dict[str, str]:
    body = "\n".join(
        f"    data = bytes_of({each.name})\n"
        f"    ct.launch(torch.cuda.current_stream(), (ct.cdiv(data.numel(), TILE), 1, 1), fill, (data,))"
        for each in parameters.outputs
    )
    return {FILE: _CUTILE + _BYTES + _SETUP + "\n" + _run(parameters, body)}


def _run(parameters: Parameters, body: str) -> str:
    names = ", ".join(each.name for each in parameters.all)
    described = parameters.described("    #")
    return f"\ndef run({names}):\n{described}\n{body}\n"


_BYTES = """
def bytes_of(tensor):
    return tensor.reshape(-1).view(torch.uint8)

"""

_TRITON = """import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def fill(data, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(data + at, tl.zeros([BLOCK], tl.uint8), mask=at < count)

"""

_NUMBA = """import torch
from numba import njit


@njit(cache=False)
def fill(data):
    for at in range(data.size):
        data[at] = 0

"""

_CUTE = """import cuda.bindings.driver as driver
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor, make_fake_stream

THREADS = 256
compiled = {}


@cute.kernel
def fill(data: cute.Tensor):
    block, _, _ = cute.arch.block_idx()
    thread, _, _ = cute.arch.thread_idx()
    at = block * THREADS + thread
    if at < data.shape[0]:
        data[at] = cutlass.Uint8(0)


@cute.jit
def launch(data: cute.Tensor, stream: driver.CUstream):
    grid = [cute.ceil_div(data.shape[0], THREADS), 1, 1]
    fill(data).launch(grid=grid, block=[THREADS, 1, 1], stream=stream)


def zero(data):
    count = data.numel()
    if count not in compiled:
        example = make_fake_compact_tensor(cutlass.Uint8, (count,), stride_order=(0,))
        compiled[count] = cute.compile(launch, example, make_fake_stream())
    stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
    compiled[count](from_dlpack(data), stream)

"""

_CUTILE = """import cuda.tile as ct
import torch

TILE = 1024


@ct.kernel
def fill(data):
    block = ct.bid(0)
    tile = ct.load(data, (block,), (TILE,))
    ct.store(data, (block,), tile - tile)

"""
