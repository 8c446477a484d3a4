"""One program a row of the output: the row of its page, or zeros beyond the sequence."""

import triton
import triton.language as tl


@triton.jit
def gather(
    cache, page_table, lengths, output,
    max_pages, page_size: tl.constexpr, width: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    position = tl.program_id(0)
    sequence = tl.program_id(1)
    valid = position < tl.load(lengths + sequence)
    page = tl.load(page_table + sequence * max_pages + position // page_size)
    columns = tl.arange(0, block)
    source = (page.to(tl.int64) * page_size + position % page_size) * width + columns
    row = tl.load(cache + source, mask=(columns < width) & valid, other=0.0)
    target = (sequence.to(tl.int64) * max_pages * page_size + position) * width + columns
    tl.store(output + target, row, mask=columns < width)


def run(cache, page_table, sequence_lengths, output):
    batch, max_pages = page_table.shape
    page_size = cache.shape[1]
    width = cache.shape[2] * cache.shape[3]
    grid = (max_pages * page_size, batch)
    block = triton.next_power_of_2(width)
    gather[grid](cache, page_table, sequence_lengths, output, max_pages, page_size, width, block)
