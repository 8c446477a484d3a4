"""What a trace says of one workload: its verdict, what was noticed on the way, and what would repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from solbench.jail import Walls
from solbench.jail.protocol import Artifact
from solbench.judge._device import Device
from solbench.judge._oracle import Oracle
from solbench.judge._request import Case, Request
from solbench.judge._runner import Runner
from solbench.judge._traces import WorkloadResult
from solbench.judge.guard import Finding, library_flags
from solbench.spec import Flag, definition_digest, solution_digest, workload_digest


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the workloads of an evaluation share."""

    request: Request
    device: Device
    rules_digest: str
    artifact: Artifact | None
    candidate: Runner | None
    findings: tuple[Finding, ...]

    @property
    def walls(self) -> Walls:
        """Around the candidate; none where there was no worker."""
        return self.candidate.walls if self.candidate else Walls({})


def workload_result(case: Case, around: Circumstances) -> WorkloadResult:
    """Of a case that is over, whatever became of it."""
    request, device, measured = around.request, around.device, case.measurement
    return WorkloadResult(
        problem_name=request.problem.definition.name,
        solution_name=request.solution.name,
        workload=case.workload,
        failure=case.failure,
        measurement=measured,
        bound=case.bound,
        walls=around.walls,
        flags=(
            *measured.flag_list(),
            *_held_scalars(case.oracle),
            *_other_choices(case.oracle),
            *_problem_flags(case, request),
            *_library_flags(case, request),
            *_solution_flags(around),
        ),
        digests=_digests(case, around),
        log=around.candidate.log_tail() if around.candidate else "",
        clock="single" if measured.clocks.alone_ranks else device.clock,
        verified=device.verified and not measured.doubt and not device.hot,
        hot=device.hot,
        mode=request.mode,
        device=device.name,
        admission=case.admission,
        findings=around.findings,
    )


def missing_layers(walls: Walls) -> str:
    """Of the jail, and why they are missing."""
    reasons = [f"{name}: {why}" for name, why in walls.layers.items() if why]
    return "; ".join(reasons) or "the worker was not sealed"


def _held_scalars(oracle: Oracle | None) -> Iterator[Flag]:
    if oracle is not None and oracle.held_scalars:
        values = ", ".join(f"{name} = {value!r}" for name, value in oracle.held_scalars.items())
        evidence = f"the entrypoint draws them anew each time; all calls were made with {values}"
        yield Flag(id="scalars_held", evidence=evidence)


def _other_choices(oracle: Oracle | None) -> Iterator[Flag]:
    evidence = oracle.other_choices.in_words() if oracle is not None else ""
    if evidence:
        yield Flag(id="near_ties", evidence=evidence)


def _problem_flags(case: Case, request: Request) -> Iterator[Flag]:
    """What the problem is to blame for, and a precision below the one it declares."""
    if case.admission is None:
        return
    if not case.admission.passed:
        yield Flag(id="weak_gate", evidence=case.admission.reasons())
    own = request.problem.definition.solbench
    if own.policy.lower_precision if own is not None else case.failure is not None:
        return  # allowed; or wrong by the public rule, which says nothing about precision
    evidence = case.measurement.precision.downgrade(case.admission.lower)
    if evidence:
        yield Flag(id="precision_downgrade", evidence=evidence)


def _library_flags(case: Case, request: Request) -> Sequence[Flag]:
    advice = case.measurement.advice
    return library_flags(request.problem.definition, advice.log) if advice else ()


def _solution_flags(around: Circumstances) -> Iterator[Flag]:
    walls, request = around.walls, around.request
    if walls.sealed and not walls.complete:
        yield Flag(id="jail_incomplete", evidence=missing_layers(walls))
    if request.solution.definition != request.problem.definition.name:
        evidence = f"the solution says it is for '{request.solution.definition}'"
        yield Flag(id="definition_mismatch", evidence=evidence)


def _digests(case: Case, around: Circumstances) -> dict[str, str]:
    request, rules = around.request, around.rules_digest
    return {
        "definition": definition_digest(request.problem.definition),
        "workload": workload_digest(case.workload),
        "solution": solution_digest(request.solution),
        "artifact": around.artifact.digest if around.artifact else "",
        "seeds": case.seeds.commitment,
        # The workload is over, so its secret may be told: with it the verdict can be repeated.
        "seeds_opening": case.seeds.opening,
        **({"rules": rules} if rules else {}),
    }
