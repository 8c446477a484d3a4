"""Admissions that are known: found once a problem, workload, device and version, and kept on disk."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from solbench.errors import InputError, ReferenceFailed
from solbench.gate import OutputError
from solbench.jail.builders import cache_root
from solbench.judge._oracle import Oracle
from solbench.judge._orders import Fault
from solbench.judge._sections import Section
from solbench.judge._seeds import SeedBook
from solbench.judge._traces import solbench_version
from solbench.judge.admission import Admission, Finding, admit
from solbench.spec import Problem, Workload, workload_digest

if TYPE_CHECKING:
    from solbench.judge._session import LocalJudge

_FORMAT = 2
"""Raise it when a check changes its meaning."""


class AdmissionBook:
    """What was found about the workloads of a device's problems."""

    def __init__(self, device_title: str) -> None:
        self._made_of = {
            "format": _FORMAT,
            "device": device_title,
            "torch": torch.__version__,
            "solbench": solbench_version(),
        }
        self._known: dict[str, Admission] = {}

    def get(self, problem: Problem, workload: Workload, find: Callable[[], Admission]) -> Admission:
        """The admission of a workload; ``find`` makes it if it is not known yet."""
        key = self._key(problem, workload)
        if key not in self._known:
            self._known[key] = self._stored(key) or self._store(key, find())
        return self._known[key]

    def _key(self, problem: Problem, workload: Workload) -> str:
        made_of = {
            **self._made_of,
            "problem": problem.digest,
            "workload": workload_digest(workload),
        }
        return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()

    def _stored(self, key: str) -> Admission | None:
        """None where there is no readable file: it is then found anew."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return _read(json.loads(_file(key).read_text(encoding="utf-8")))
        return None

    def _store(self, key: str, admission: Admission) -> Admission:
        """Keep it, unless a check is open: more time, or a free machine, may close it."""
        if any(finding.outcome == "open" for finding in admission.findings):
            return admission
        # A cache that cannot be written costs time, no verdict.
        with contextlib.suppress(OSError):
            _write(_file(key), json.dumps(dataclasses.asdict(admission)))
        return admission


def _file(key: str) -> Path:
    return cache_root() / "admissions" / f"{key}.json"


def _write(file: Path, text: str) -> None:
    """In one rename: another process sees all of it or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, staging = tempfile.mkstemp(prefix=".staging-", dir=file.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    Path(staging).replace(file)


def _read(record: dict[str, Any]) -> Admission:
    return Admission(
        workload=record["workload"],
        findings=tuple(Finding(**each) for each in record["findings"]),
        errors={name: OutputError(**each) for name, each in record["errors"].items()},
        lower={name: OutputError(**each) for name, each in record["lower"].items()},
        variations=tuple(record["variations"]),
    )


def admit_workload(
    judge: LocalJudge, problem: Problem, workload: Workload, number: int, fault: Fault | None
) -> Admission:
    """The admission of one workload by itself; a reference that cannot be run is a finding."""
    if fault is not None and fault.section is not Section.BOUND:
        return _refused(workload, fault.reason)

    def within(section: Section) -> AbstractContextManager[None]:
        return judge.sections.within(number, section)

    def find() -> Admission:
        seeds = SeedBook()
        device = judge.device.oracle_device
        return admit(Oracle(problem, workload, device, seeds.weights_seed, within), seeds.seed)

    try:
        return judge.admissions.get(problem, workload, find)
    except (ReferenceFailed, InputError) as error:
        return _refused(workload, str(error))


def _refused(workload: Workload, reason: str) -> Admission:
    return Admission(workload.uuid, (Finding("reference", "failed", reason),))
