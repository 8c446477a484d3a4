"""Wrong: a length is compared with <=, so that one stale row after each sequence is kept."""

import torch


def run(cache, page_table, sequence_lengths):
    batch, max_pages = page_table.shape
    page_size = cache.shape[1]
    pages = cache[page_table.clamp(min=0).long()]
    rows = pages.reshape(batch, max_pages * page_size, *cache.shape[2:])
    positions = torch.arange(max_pages * page_size, device=cache.device)
    valid = positions <= sequence_lengths[:, None]
    return rows.masked_fill(~valid[:, :, None, None], 0)
