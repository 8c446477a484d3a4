"""Ask for a rule, try it behind walls, and store it if it matches: never run it anywhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from solbench.bound._programs import Program
from solbench.bound.rules import find
from solbench.bound.suggest._emulate import Jail, verdict
from solbench.bound.suggest._prompt import digest, prompt, schema_of
from solbench.bound.suggest._samples import sample_calls
from solbench.bound.suggest._static import complaints
from solbench.errors import InputError, JailError

Ask = Callable[[str], str]
"""Question → answer."""
_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What asking came to."""

    op: str
    accepted: bool
    file: Path | None
    """Where the rule was stored; only if it matches."""
    attempts: tuple[str, ...]
    """Why each answer before, or each in all, was not taken."""
    calls: int
    """Calls on which the rule was tried."""


def suggest_rule(
    op: str, program: Program, ask: Ask, jail: Jail, folder: Path, *, model: str, attempts: int = 3
) -> Suggestion:
    """Ask for a rule of ``op`` until one matches all calls that ``program`` makes, at several sizes.

    An answer that fails is handed back with the reason. The rule that matches is written to ``folder`` with
    where it comes from; it is not loaded.

    Raises
    ------
    InputError
        torch does not know the operation, it has a rule already, or the program does not call it.
    """
    schema = schema_of(op)
    if find(op) is not None:
        raise InputError(
            f"{op} has a rule already", key="OP", remedy="'solbench ops list' shows it."
        )
    samples = sample_calls(program, op)
    question = prompt(op, samples)
    refused: list[str] = []
    for _ in range(attempts):
        answer = ask(question + "".join(_returned(reason) for reason in refused[-1:]))
        text, reason = _code(answer), ""
        if text is None:
            refused.append("the answer holds no single fenced Python block")
            continue
        if found := complaints(text, op):
            refused.append("; ".join(found[:5]))
            continue
        try:
            tried = verdict(text, samples, jail)
            reason = tried.reason
        except JailError as error:
            reason = str(error)
        if reason:
            refused.append(reason)
            continue
        header = _header(op, schema, model, digest(question), len(samples))
        return Suggestion(op, True, _store(folder, op, header + text), tuple(refused), len(samples))
    return Suggestion(op, False, None, tuple(refused), len(samples))


def _code(answer: str) -> str | None:
    blocks: list[str] = _BLOCK.findall(answer)
    return blocks[0].strip() + "\n" if len(blocks) == 1 else None


def _returned(reason: str) -> str:
    return f"\nAn earlier answer was not accepted: {reason}\n"


def _header(op: str, schema: str, model: str, question: str, calls: int) -> str:
    """Provenance, as comments: the file is for people to review."""
    lines = (
        f"Suggested rule for {op}",
        f"schema: {schema}",
        f"model: {' '.join(model.split())}",
        f"date: {datetime.now(UTC).date().isoformat()}",
        f"prompt sha256: {question}",
        f"evidence: {calls} calls, every element read and no other, sums of products by their numbers",
        "Review before use: is all matrix work a contraction? Emulation cannot tell work from data movement.",
    )
    return "".join(f"# {line}\n" for line in lines) + "\n"


def _store(folder: Path, op: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{re.sub(r'[^A-Za-z0-9_]', '_', op)}.py"
    if file.exists():
        raise InputError("there is a rule of this name already", file=file, remedy="Move it away.")
    file.write_text(text, encoding="utf-8")
    return file
