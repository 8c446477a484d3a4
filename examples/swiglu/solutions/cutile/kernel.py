# One fused pass in cuTile: a block takes a tile of one row. Tiles past the end are cut by bounds checks.
import cuda.tile as ct
import torch

TILE = 1024


@ct.kernel
def activate(gate_up, output):
    row, block = ct.bid(0), ct.bid(1)
    gate = ct.load(gate_up, (row, 0, block), (1, 1, TILE)).astype(ct.float32)
    up = ct.load(gate_up, (row, 1, block), (1, 1, TILE)).astype(ct.float32)
    result = gate / (1.0 + ct.exp(-gate)) * up
    ct.store(output, (row, 0, block), result.astype(ct.bfloat16))


def run(gate_up, output):
    rows, width = output.shape
    grid = (rows, ct.cdiv(width, TILE), 1)
    arguments = (gate_up.view(rows, 2, width), output.view(rows, 1, width))
    ct.launch(torch.cuda.current_stream(), grid, activate, arguments)
