"""From a problem or program to its bounds: capture, analyse, price, one workload at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from solbench.bound._analyse import analyse
from solbench.bound._precision_admit import admit, priced_kinds
from solbench.bound._precision_result import Admission, PlaceAdmission, PrecisionMode
from solbench.bound._precision_ways import small_programs
from solbench.bound._price import Priced, faster_kinds, matrix_binds, price
from solbench.bound._programs import Program, problem_program
from solbench.bound._result import Bound, CaptureRung, Demand
from solbench.bound._verify import Verification, verify_graph
from solbench.bound.capture import capture
from solbench.bound.graph import Graph
from solbench.errors import InputError, SolBenchError, SpecError, UnsupportedPrecision
from solbench.hardware import Hardware, load_hardware
from solbench.spec import Problem


def derive_bound(
    problem: Problem | Program,
    hardware: str | Hardware = "h200",
    *,
    workload: str | None = None,
    clock_mhz: float | None = None,
    verify: bool = False,
    precision: PrecisionMode = "auto",
) -> tuple[Bound, ...]:
    """T_SOL of every workload (or of the one whose uuid is given) on one device.

    A workload whose reference cannot be captured gives a ``Bound`` with ``error`` set and no times.
    ``clock_mhz`` overrides the device file's default clock. With ``verify`` the captured graph is replayed
    against the reference.

    ``precision``: with ``auto`` the classes that the problem's gate lets through are tried on a small instance
    where matrix work binds, and products are priced at the fastest that passes; what cannot be decided is
    priced as declared, and the bound says so. ``admitted`` leaves such a bound without a time instead;
    ``declared`` tries nothing. A ``Program`` has no gate and is priced as declared.

    Raises ``UnknownHardware`` for a device that is not known, ``SpecError`` for such a workload, and
    ``InputError`` for something that is no problem.

    >>> bounds = solbench.derive_bound(solbench.load_problem("examples/rmsnorm"), hardware="h200")
    >>> bounds[0].binding, f"{bounds[0].t_sol_ms:.2e} ms"
    ('dram', '5.12e-06 ms')
    """
    device = load_hardware(hardware) if isinstance(hardware, str) else hardware
    given = problem if isinstance(problem, Problem) else None
    programs = tuple(_programs(problem, workload))
    task = _Task(device, device.clock_mhz(clock_mhz), verify, precision, given)
    return tuple(_derive(program, task) for program in programs)


MOST_CALLS_SHRUNK = 1000
"""A program of more calls unrolls a loop over some size: at smaller sizes it makes others, and says nothing."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What is the same for every program."""

    device: Hardware
    clock_mhz: float
    verify: bool
    precision: PrecisionMode
    problem: Problem | None


def _programs(problem: Problem | Program, workload: str | None) -> Iterator[Program]:
    if isinstance(problem, Program):
        yield problem
        return
    if not isinstance(problem, Problem):
        raise InputError(
            f"a Problem or a Program is wanted, not a {type(problem).__name__}",
            key="problem",
            remedy="Load it with solbench.load_problem(path).",
        )
    chosen = [w for w in problem.workloads if workload in (None, w.uuid)]
    if not chosen:
        known = ", ".join(w.uuid for w in problem.workloads)
        raise SpecError(f"no workload {workload}", remedy=f"It has: {known}.")
    for each in chosen:
        yield problem_program(problem, each)


def _derive(program: Program, task: _Task) -> Bound:
    started = time.perf_counter()
    device, clock = task.device, task.clock_mhz
    try:
        graph, rung = capture(program)
        verification = _verified(program, graph, task) if task.verify else None
        demand = analyse(graph, rung, verification=verification)
        priced = price(demand, device, clock)
        if not demand.complete or task.problem is None or task.precision == "declared":
            return _bound(program.origin, device, clock, demand, priced, None, started)
        return _admitted(program, task, graph, demand, priced, started)
    except UnsupportedPrecision as error:
        return failed_bound(program, device, clock, str(error), started, rung, demand)
    except SolBenchError as error:
        return failed_bound(program, device, clock, str(error), started)


def _verified(program: Program, graph: Graph, task: _Task) -> Verification:
    problem = task.problem
    if problem is None or len(graph.nodes) > MOST_CALLS_SHRUNK:
        return verify_graph(program, graph)
    workload = problem.workload(program.workload)
    return verify_graph(program, graph, lambda: small_programs(problem, workload))


def _admitted(
    program: Program, task: _Task, graph: Graph, demand: Demand, priced: Priced, started: float
) -> Bound:
    """The bound at the classes that the problem's gate lets through."""
    assert task.problem is not None
    device, clock = task.device, task.clock_mhz
    if not matrix_binds(demand, priced, device):
        admission = Admission("not_needed", "memory binds, whatever the precision of the products")
        return _bound(program.origin, device, clock, demand, priced, admission, started)
    admission = admit(
        task.problem, task.problem.workload(program.workload), graph, demand,
        lambda declared: faster_kinds(declared, device),
    )  # fmt: skip
    if admission.status == "undecided" and task.precision == "admitted":
        error = f"it could not be tried which precision the gate lets through: {admission.reason}"
        failed = failed_bound(program, device, clock, error, started, demand.capture, demand)
        return replace(failed, admission=admission)
    if admission.status == "admitted":
        kinds = priced_kinds(demand, admission.places)
        lowered = replace(demand, precision="admitted", admitted_flops=kinds)
        again = price(lowered, device, clock)
        if again.t_sol_ms <= priced.t_sol_ms:
            demand, priced = lowered, again
    return _bound(program.origin, device, clock, demand, priced, admission, started)


def priced_bound(
    origin: tuple[str, str], device: Hardware, clock: float, demand: Demand, started: float
) -> Bound:
    """The bound of a demand at declared precision; ``origin``: names of the program and the workload."""
    return _bound(origin, device, clock, demand, price(demand, device, clock), None, started)


def _bound(
    origin: tuple[str, str], device: Hardware, clock: float, demand: Demand, priced: Priced,
    admission: Admission | None, started: float,
) -> Bound:  # fmt: skip
    complete = demand.complete
    return Bound(
        problem=origin[0],
        workload=origin[1],
        hardware=device.name,
        clock_mhz=clock,
        t_sol_ms=priced.t_sol_ms if complete else None,
        t_attainable_ms=priced.t_attainable_ms if complete else None,
        t_floor_ms=priced.t_floor_ms if complete else None,
        binding=priced.binding if complete else None,
        matrix_flops=demand.matrix_flops,
        dram_read_bytes=demand.dram_read_bytes,
        dram_write_bytes=demand.dram_write_bytes,
        complete=complete,
        unknown_ops=demand.unknown_ops,
        capture=demand.capture,
        verified=demand.verified,
        precision=demand.precision,
        assumptions=(*demand.assumptions, *_of_precision(admission), *priced.assumptions),
        seconds=time.perf_counter() - started,
        verified_nodes=demand.verified_nodes,
        total_nodes=demand.total_nodes,
        unverified=demand.unverified,
        terms=priced.terms if complete else (),
        admission=admission,
        demand=demand,
    )


def _of_precision(admission: Admission | None) -> tuple[str, ...]:
    if admission is None or admission.status in ("declared", "not_needed"):
        return ()
    if admission.status == "undecided":
        reason = f"which lower precision the gate lets through is undecided: {admission.reason}"
        return (f"priced at declared precision; {reason}",)
    kinds = sorted({_lowering(p) for p in admission.places if p.lowered})
    alone = "" if admission.together is not False else ", each place by itself, not all together"
    return (f"the gate lets lower precision through ({', '.join(kinds)}{alone})",)


def _lowering(place: PlaceAdmission) -> str:
    whole = f"{place.declared} as {place.admitted}" if place.admitted != place.declared else ""
    part = f"{place.part_share:.0%} of {place.declared} as {place.part}" if place.part else ""
    return " and ".join(text for text in (part, whole) if text)


def failed_bound(
    program: Program,
    device: Hardware,
    clock: float,
    error: str,
    started: float,
    rung: CaptureRung | None = None,
    demand: Demand | None = None,
) -> Bound:
    """A bound that could not be derived, with the reason."""
    return Bound(
        problem=program.name, workload=program.workload, hardware=device.name, clock_mhz=clock,
        t_sol_ms=None, t_attainable_ms=None, t_floor_ms=None, binding=None,
        matrix_flops=demand.matrix_flops if demand else {},
        dram_read_bytes=demand.dram_read_bytes if demand else 0,
        dram_write_bytes=demand.dram_write_bytes if demand else 0,
        complete=False, unknown_ops=demand.unknown_ops if demand else (), capture=rung,
        verified=False, precision="declared", assumptions=demand.assumptions if demand else (),
        seconds=time.perf_counter() - started, error=error, demand=demand,
    )  # fmt: skip
