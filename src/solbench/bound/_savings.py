"""Multiply-adds that a program does, and a kernel need not: other orders of the same products."""

from __future__ import annotations

from solbench.bound._chains import chain_savings
from solbench.bound._demand import Demanded
from solbench.bound._lift import LiftedGraph
from solbench.bound._networks import network_savings, searched
from solbench.bound._prefix_states import state_savings
from solbench.bound._prefixes import prefix_savings
from solbench.bound._repeats import repeat_savings
from solbench.bound._shared_products import shared_savings
from solbench.bound._sums import sum_savings


def order_savings(lifted: LiftedGraph, found: Demanded) -> dict[int, int]:
    """Multiply-adds saved, by ``id`` of the step that each saving is booked on.

    A contraction takes part in one saving only: the greatest is taken first.
    """
    search = searched(lifted, found)
    savings = [
        *network_savings(search),
        *shared_savings(search),
        *chain_savings(lifted, found),
        *prefix_savings(lifted, found),
        *state_savings(lifted, found),
        *repeat_savings(lifted, found),
        *sum_savings(lifted, found),
    ]
    taken: set[int] = set()
    result: dict[int, int] = {}
    for saving in sorted(savings, key=lambda s: -s.macs):
        if not taken & saving.members:
            taken |= saving.members
            step = id(saving.root.step)
            result[step] = result.get(step, 0) + saving.macs
    return result
