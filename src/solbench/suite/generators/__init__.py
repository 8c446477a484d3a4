"""Torch functions that make inputs; their text is embedded into exported problems.

Each takes ``(shape, dtype, device, …)`` and returns a tensor, or ``(device, …)`` and returns a dict of tensors
that belong together. They draw from torch's global random state, which the caller has seeded.
"""
