"""Whole pages copied as 8-byte words, then only the tail of each sequence is cleared."""

import torch

WORD = torch.int64
"""Four bfloat16 values at a time: the copy does not care what they mean."""


def run(cache, page_table, sequence_lengths, output):
    batch, max_pages = page_table.shape
    page_size = cache.shape[1]
    pages = cache.view(cache.shape[0], -1).view(WORD)
    target = output.view(batch * max_pages, -1).view(WORD)
    torch.index_select(pages, 0, page_table.clamp(min=0).view(-1), out=target)
    rows = output.view(batch, max_pages * page_size, -1)
    if output.is_cuda:
        positions = torch.arange(max_pages * page_size, device=cache.device)
        rows.masked_fill_((positions >= sequence_lengths[:, None])[:, :, None], 0)
        return
    for sequence, length in zip(rows, sequence_lengths.tolist(), strict=True):
        sequence[length:].zero_()
