"""Graph → Demand: what every correct implementation must read, write and multiply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from solbench.bound import _attainable, _storage
from solbench.bound._contractions import contractions
from solbench.bound._demand import Demanded, StepCost, demand, output_region
from solbench.bound._lift import LiftedGraph, lift
from solbench.bound._region import Region
from solbench.bound._result import CaptureRung, Demand, Removed, Traffic
from solbench.bound._rows import node_rows
from solbench.bound._savings import order_savings
from solbench.bound._verify import Verification
from solbench.bound.graph import Graph, Value

CLASSICAL = "classical arithmetic: no Strassen, Winograd or FFT in place of direct products"
FINITE = "values are finite, so that a product with a known zero is zero"
WIDE_INTEGERS = "products of integers wider than 8 bits are vector work"


def analyse(
    graph: Graph, rung: CaptureRung = "fake", *, verification: Verification | None = None
) -> Demand:
    """The device-free part of a bound; ``verification`` is what checking the graph came to."""
    return demand_of(lift(graph), rung, verification=verification)


def demand_of(
    lifted: LiftedGraph, rung: CaptureRung = "fake", *, verification: Verification | None = None
) -> Demand:
    """As ``analyse``, of a graph that is lifted already."""
    found = demand(lifted)
    savings = order_savings(lifted, found)
    matrix = _matrix_flops(found, savings)
    traffic = (*_reads(lifted, found), *_writes(lifted))
    nodes = node_rows(lifted, found)
    products, chains = contractions(lifted, found)
    return Demand(
        matrix_flops=matrix.flops,
        vector_ops=sum(c.vector_ops for c in found.costs),
        dram_read_bytes=sum(t.bytes for t in traffic if t.direction == "read"),
        dram_write_bytes=sum(t.bytes for t in traffic if t.direction == "write"),
        intermediate_bytes=_attainable.intermediate_bytes(lifted, found),
        launches=_attainable.launches(lifted, found),
        nodes=nodes,
        traffic=traffic,
        removed=tuple(_removed(found, lifted, savings, traffic)),
        unknown_ops=tuple(sorted(found.unknown_ops)),
        assumptions=(
            CLASSICAL,
            FINITE,
            *((WIDE_INTEGERS,) if matrix.wide_integers else ()),
            *_uncounted(lifted),
        ),
        precision="declared",
        capture=rung,
        verified=verification is not None and verification.verified,
        verified_nodes=verification.nodes.checked if verification else 0,
        total_nodes=verification.nodes.total if verification else 0,
        unverified=verification.open_points if verification else (),
        mixed_flops=matrix.mixed,
        special_ops=sum(n.special_ops for n in nodes),
        contractions=products,
        chains=chains,
    )


def _uncounted(lifted: LiftedGraph) -> Iterator[str]:
    """Masks too large to keep, and where they are applied."""
    places = dict.fromkeys(node.location or node.op for node in lifted.removed_by_hidden)
    for place in places:
        yield f"nothing under the mask of {place} is counted: it is too large to keep"


@dataclass(slots=True)
class _Totals:
    """FLOPs by class, and those fp32 products of which one operand is narrower."""

    flops: dict[str, int] = field(default_factory=dict)
    mixed: dict[str, int] = field(default_factory=dict)
    wide_integers: bool = False


def _matrix_flops(found: Demanded, savings: dict[int, int]) -> _Totals:
    result = _Totals()
    for cost in found.costs:
        if cost.work is None or cost.work.macs == 0:
            continue
        if cost.work.precision == "int":
            result.wide_integers = True
            continue
        saved = 2 * savings.get(id(cost.step), 0) * cost.work.real_products
        flops = cost.work.flops - saved
        name, narrow = cost.work.precision, cost.work.narrow
        result.flops[name] = result.flops.get(name, 0) + flops
        if narrow:
            result.mixed[narrow] = result.mixed.get(narrow, 0) + flops
    result.flops = _settled(result.flops)
    # what a better order saves may lie in products of another kind
    whole = result.flops.get("fp32", 0)
    result.mixed = {k: min(v, whole) for k, v in result.mixed.items() if v > 0}
    return result


def _settled(flops: dict[str, int]) -> dict[str, int]:
    """A chain's savings are booked on its last product: where they exceed its class, other classes pay."""
    debt = -sum(v for v in flops.values() if v < 0)
    result = {}
    for name, amount in sorted(flops.items()):
        paid = min(debt, max(amount, 0))
        debt -= paid
        if amount - paid > 0:
            result[name] = amount - paid
    return result


def _reads(lifted: LiftedGraph, found: Demanded) -> list[Traffic]:
    """One row a storage: the union of what is needed of every input that lies in it."""
    storages: dict[int, list[str]] = {}
    for name, value_id in lifted.graph.inputs.items():
        storages.setdefault(lifted.values[value_id].storage, []).append(name)
    rows = []
    for names in storages.values():
        ids = [lifted.graph.inputs[n] for n in names]
        touched = [
            (lifted.values[i], found.need[r]) for i in ids if (r := lifted.resolve(i)) in found.need
        ]
        declared = sum(v.numel * v.dtype.itemsize for v in map(lifted.values.__getitem__, ids))
        amount = _storage.distinct_bytes(touched)
        rows.append(
            Traffic(", ".join(names), "read", amount, declared, _why(amount, declared, len(ids)))
        )
    return rows


def _why(amount: int, declared: int, count: int) -> str:
    if amount == declared:
        return ""
    if amount == 0:
        return "no output depends on it"
    if count > 1:
        return "views of one storage count once; only what outputs depend on"
    return "only the elements that outputs depend on"


def _writes(lifted: LiftedGraph) -> list[Traffic]:
    """One row a storage: the union of the outputs that lie in it."""
    storages: dict[int, list[tuple[str, Value, Region]]] = {}
    for name, value_id in lifted.graph.outputs:
        value = lifted.values[value_id]
        region = output_region(lifted, name, value_id)
        storages.setdefault(value.storage, []).append((name, value, region))
    rows = []
    for items in storages.values():
        amount = _storage.distinct_bytes([(v, r) for _, v, r in items])
        declared = sum(v.numel * v.dtype.itemsize for _, v, _ in items)
        reason = (
            "" if amount == declared else "each distinct element once; of an input, those changed"
        )
        rows.append(Traffic(", ".join(n for n, _, _ in items), "write", amount, declared, reason))
    return rows


def _removed(
    found: Demanded,
    lifted: LiftedGraph,
    savings: dict[int, int],
    traffic: tuple[Traffic, ...],
) -> list[Removed]:
    """Everything that a plain count would include."""
    rows = []
    for cost in found.costs:
        node = cost.step.node
        what = f"{node.op} ({node.location})" if node.location else node.op
        saved = savings.get(id(cost.step), 0)
        kept = cost.work.flops if cost.work else 0
        if cost.naive_flops > kept:
            rows.append(Removed(what, _reason(cost, kept), cost.naive_flops - kept))
        if saved:
            rows.append(Removed(what, "a better order of the product chain", 2 * saved))
    rows += _repeats(found, lifted)
    for row in traffic:
        if row.declared_bytes > row.bytes:
            gap = row.declared_bytes - row.bytes
            rows.append(Removed(f"{row.direction} of {row.tensor}", row.reason, dram_bytes=gap))
    return rows


def _repeats(found: Demanded, lifted: LiftedGraph) -> Iterator[Removed]:
    """Contractions with the operands of an earlier call: all their work is left out."""
    spent: dict[int, int] = {}
    for cost in found.costs:
        for out in cost.step.node.results():
            spent[out] = spent.get(out, 0) + cost.naive_flops
    for node in lifted.repeated:
        flops = max((spent.get(lifted.resolve(out), 0) for out in node.results()), default=0)
        if flops:
            place = f"{node.op} ({node.location})" if node.location else node.op
            yield Removed(place, "computed before, counted once", flops)


def _reason(cost: StepCost, kept: int) -> str:
    if kept:
        return "rows not needed, known zeros, repeated slices, or sums taken first"
    if cost.work is not None and cost.work.precision == "":
        return "no output needs it"
    return "no two varying operands share a summed rank, or the result is known"
