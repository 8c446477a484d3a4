import torch


def make_inputs(axes_and_scalars, device):
    """A page table as a serving engine holds it: lengths that vary, pages in no order, -1 where none is.

    Lengths depend on the axes only; which page holds which tokens is drawn.
    """
    batch, max_pages = axes_and_scalars["batch_size"], axes_and_scalars["max_pages"]
    page_size, num_pages = axes_and_scalars["page_size"], axes_and_scalars["num_pages"]
    order = torch.arange(batch, device=device)
    longest = max_pages * page_size
    lengths = longest - (order * longest * 5) // (batch * 6) - (order + 1) % 3 * 5
    lengths = lengths.clamp(min=1).to(torch.int32)
    used = (lengths + page_size - 1) // page_size
    free_pages = torch.randperm(num_pages, device=device)[: batch * max_pages]
    page_table = free_pages.view(batch, max_pages).to(torch.int32)
    unused = torch.arange(max_pages, device=device) >= used[:, None]
    return {"page_table": page_table.masked_fill(unused, -1), "sequence_lengths": lengths}


def run(cache, page_table, sequence_lengths):
    batch, max_pages = page_table.shape
    _, page_size, heads, head_dim = cache.shape
    pages = cache[page_table.clamp(min=0).to(torch.int64)]
    rows = pages.reshape(batch, max_pages * page_size, heads, head_dim)
    positions = torch.arange(max_pages * page_size, device=cache.device)
    valid = positions < sequence_lengths[:, None]
    return rows.masked_fill(~valid[:, :, None, None], 0)
