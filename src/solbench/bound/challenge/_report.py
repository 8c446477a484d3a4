"""A challenge as files: the tiny problem, and a page that says which term to distrust."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from solbench.bound.challenge._challenge import Challenge
from solbench.errors import InputError
from solbench.spec import workload_line, write_json

REPORT = "CHALLENGE.md"
_MEANING = {
    "refuted": "The bound is wrong: on the program below it asks for more than a plain kernel needs.",
    "reproduced": "The claim stands at these sizes; no independent count on a small program refutes the bound.",
    "explained": "The time is explained; the bound's counts are not contradicted.",
    "not_faster": "The time is not below the bound, and an independent count does not contradict it.",
    "agrees": "An independent count on small programs does not contradict the bound.",
    "unexplained": "No explanation was found, and an independent count on small programs agrees with "
    "the bound: distrust the rates of the hardware file, or the kernel.",
}


def challenge_record(found: Challenge) -> dict[str, Any]:
    """Plain data for ``--json``."""
    finding, case = found.finding, found.reproducer
    return {
        "problem": found.problem,
        "workload": found.workload,
        "hardware": found.bound.hardware,
        "verdict": found.verdict,
        "meaning": _MEANING[found.verdict],
        "latency_ms": found.latency_ms,
        "t_sol_ms": found.bound.t_sol_ms,
        "t_floor_ms": found.bound.t_floor_ms,
        "binding": found.bound.binding,
        "triage": [asdict(each) for each in found.triage],
        "excess": None if finding is None else asdict(finding.excess),
        "count": None if finding is None else asdict(finding.count),
        "suspect": found.suspect,
        "reference": None if case is None else case.definition.reference,
        "axes": None if case is None else case.problem.axis_values(case.workload),
        "tried": found.tried,
    }


def write_challenge(found: Challenge, folder: Path) -> None:
    """Write the reproducer as a problem folder, with the report. Raises ``InputError`` if it is not empty."""
    if folder.exists() and any(folder.iterdir()):
        raise InputError("exists and is not empty", file=folder, key="--out")
    folder.mkdir(parents=True, exist_ok=True)
    if found.reproducer is not None:
        write_json(folder / "definition.json", found.reproducer.definition)
        line = workload_line(found.reproducer.workload)
        (folder / "workload.jsonl").write_text(line + "\n", encoding="utf-8")
    record = json.dumps(challenge_record(found), indent=2)
    (folder / "challenge.json").write_text(record + "\n", encoding="utf-8")
    (folder / REPORT).write_text(challenge_text(found), encoding="utf-8")


def challenge_text(found: Challenge) -> str:
    """The report in Markdown."""
    lines = [
        f"# {found.problem}, workload {found.workload}, on {found.bound.hardware}: {found.verdict}",
        "",
        _MEANING[found.verdict],
        "",
        f"T_SOL {found.bound.t_sol_ms:.6g} ms, T_floor {found.bound.t_floor_ms:.6g} ms; "
        f"{found.bound.binding} binds.",
    ]
    if found.latency_ms is not None:
        lines.append(f"Claimed: {found.latency_ms:.6g} ms.")
    lines += ["", *(_line(kind.kind, kind.explains, kind.detail) for kind in found.triage)]
    if found.finding is not None and found.reproducer is not None:
        excess, case = found.finding.excess, found.reproducer
        unit = "B" if excess.resource == "dram" else "FLOP"
        sizes = case.problem.axis_values(case.workload)
        shapes = ", ".join(
            f"{n} {case.problem.input_shape(case.workload, n)}" for n in case.definition.inputs
        )
        lines += [
            "",
            f"## The smallest program found ({found.tried} candidates)",
            "",
            "```python",
            case.definition.reference.strip(),
            "```",
            "",
            f"Inputs: {shapes}. Axes: {sizes}.",
            "",
            f"Term to distrust: **{excess.resource}**. The bound counts {excess.bound} {unit}, "
            f"{excess.counted} {unit} are enough.",
            f"Look at the rule of: {found.suspect}.",
        ]
    return "\n".join(lines).rstrip() + "\n"


def _line(kind: str, explains: bool, detail: str) -> str:
    return f"* `{kind}`: {'explains the time' if explains else 'does not explain it'}; {detail}"
