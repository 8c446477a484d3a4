# One program a block of the output; sums in float32. The depth is fixed at compile time.
import triton
import triton.language as tl


@triton.jit
def product(
    tokens, weight, output, rows, width, depth: tl.constexpr,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    column = (tl.program_id(1) * WIDTH + tl.arange(0, WIDTH))[None, :]
    inner = tl.arange(0, DEPTH)
    total = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for start in range(0, depth, DEPTH):
        left = tl.load(tokens + row * depth + start + inner[None, :], mask=row < rows, other=0.0)
        right = tl.load(
            weight + column * depth + start + inner[:, None], mask=column < width, other=0.0
        )
        total = tl.dot(left, right, total)
    inside = (row < rows) & (column < width)
    tl.store(output + row * width + column, total.to(tl.float16), mask=inside)


def run(tokens, weight, output):
    (rows, depth), width = tokens.shape, weight.shape[0]
    grid = (triton.cdiv(rows, 64), triton.cdiv(width, 128))
    product[grid](
        tokens, weight, output, rows, width, depth, ROWS=64, WIDTH=128, DEPTH=64, num_warps=4
    )
