"""Masked products of products without a softmax, ``(mask * (q @ k.T) * decay) @ v``: states instead of pairs.

Linear attention, retention and chunked scans are written with a product for every pair of positions. A kernel
may carry a state from position to position, or from chunk to chunk. What the cheapest schedule saves is booked
on the second product. A decay does not stand in the way if it is a factor of either position (see
``_prefix_factors``); the sums that normalise such an attention can be read from states as well. Whatever else
reads the pairs needs them, and then only the second product can be saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from solbench.bound._chains import Saving
from solbench.bound._demand import Demanded
from solbench.bound._lift import LiftedGraph
from solbench.bound._prefix_forms import Form, Forms
from solbench.bound._prefix_readers import Readers


def prefix_savings(lifted: LiftedGraph, found: Demanded) -> Iterator[Saving]:
    """What states save, for each group of products that share their pairs."""
    forms = list(Forms(lifted, found).find())
    if not forms:
        return
    readers = Readers(lifted, found, forms)
    groups: dict[int, list[Form]] = {}
    for form in forms:
        first = form.root if form.pairs is None else form.pairs.cost
        groups.setdefault(id(first), []).append(form)
    for group in groups.values():
        saving = _saving(group, readers)
        if saving is not None:
            yield saving


def ask_tables(lifted: LiftedGraph, found: Demanded) -> None:
    """Note in the graph what the numbers of its tables say, for an analysis without them."""
    for _ in Forms(lifted, found).find():
        pass


def _saving(group: Sequence[Form], readers: Readers) -> Saving | None:
    """The saving of products that share their pairs, booked on the one that saves most."""
    shared = readers.shared(group)
    saved = {
        form: form.saving(shared, row=readers.row(form), column=readers.column(form))
        for form in group
    }
    used = [form for form in group if saved[form] > 0]
    if not used:
        return None
    pairs = group[0].pairs
    first = pairs.cost if pairs is not None and shared else None
    largest = max(used, key=lambda form: (form.own > 0, saved[form]))
    root = largest.root if largest.own or first is None else first
    spent = sum(form.own for form in used) + (first.work.macs if first and first.work else 0)
    members = {id(form.root) for form in used if form.own} | ({id(first)} if first else set())
    return Saving(root, frozenset(members), min(spent, ceil(sum(saved.values()))))
