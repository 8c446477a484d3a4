"""Right, but token by token."""

import torch


def run(cache, page_table, sequence_lengths):
    batch, max_pages = page_table.shape
    page_size = cache.shape[1]
    rows = torch.zeros(
        batch, max_pages * page_size, *cache.shape[2:], dtype=cache.dtype, device=cache.device
    )
    table = page_table.tolist()
    for sequence, length in enumerate(sequence_lengths.tolist()):
        for position in range(length):
            page = table[sequence][position // page_size]
            rows[sequence, position] = cache[page, position % page_size]
    return rows
