"""From a problem or program to its bounds: capture, analyse, price, one workload at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator

from solbench.bound._analyse import analyse
from solbench.bound._price import price
from solbench.bound._programs import Program, problem_program
from solbench.bound._result import Bound, CaptureRung, Demand
from solbench.bound._verify import verify_graph
from solbench.bound.capture import capture
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
) -> tuple[Bound, ...]:
    """T_SOL of every workload (or of the one whose uuid is given) on one device.

    A workload whose reference cannot be captured gives a ``Bound`` with ``error`` set and no times.
    ``clock_mhz`` overrides the device file's default clock. With ``verify`` the captured graph is replayed
    against the reference.
    Raises ``UnknownHardware`` for a device that is not known, ``SpecError`` for such a workload, and
    ``InputError`` for something that is no problem.
    """
    device = load_hardware(hardware) if isinstance(hardware, str) else hardware
    programs = tuple(_programs(problem, workload))
    return tuple(_derive(p, device, clock_mhz, verify) for p in programs)


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


def _derive(program: Program, device: Hardware, clock_mhz: float | None, verify: bool) -> Bound:
    started = time.perf_counter()
    clock = device.clock_mhz(clock_mhz)
    try:
        graph, rung = capture(program)
        verified = verify and verify_graph(program, graph)
        demand = analyse(graph, rung, verified=verified)
        return _priced(program, device, clock, demand, started)
    except UnsupportedPrecision as error:
        return failed_bound(program, device, clock, str(error), started, rung, demand)
    except SolBenchError as error:
        return failed_bound(program, device, clock, str(error), started)


def _priced(
    program: Program, device: Hardware, clock: float, demand: Demand, started: float
) -> Bound:
    priced = price(demand, device, clock)
    complete = demand.complete
    return Bound(
        problem=program.name,
        workload=program.workload,
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
        assumptions=(*demand.assumptions, *priced.assumptions),
        seconds=time.perf_counter() - started,
        terms=priced.terms if complete else (),
        demand=demand,
    )


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
