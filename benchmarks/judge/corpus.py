"""The corpora of cheating and of honest submissions on a device, and its ablations, in one go.

Targets: no attack gains, no honest solution is accused, and with each defence left out an attack gains.

    python benchmarks/judge/corpus.py [--device cuda:0] [--seconds 300] [--only attacks,honest,ablations]
    python benchmarks/judge/corpus.py --only ablations --layers landlock,seccomp
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

sys.path.insert(0, str(Path(__file__).parents[1]))
from _record import record

from solbench.judge import LocalJudge
from solbench.judge.attacks import (
    ABLATIONS,
    AttackCase,
    Finding,
    HonestCase,
    Observation,
    gains,
    load_corpus,
    run_ablation,
    run_attack,
    run_control,
    run_honest,
    runnable,
)

TESTS = Path(__file__).parents[2] / "tests"


@dataclass(frozen=True, slots=True)
class Clock:
    """Until when a part may begin something new."""

    end: float

    @property
    def is_over(self) -> bool:
        return monotonic() > self.end


def attacks(device: str, clock: Clock) -> dict[str, object]:
    """Every attack for the device, with its twin where it passes."""
    cases, left_out = runnable(load_corpus(TESTS / "attacks" / "cases", AttackCase), device)
    findings = []
    with LocalJudge(device) as judge:
        for name, case in cases.items():
            if clock.is_over:
                left_out = {**left_out, name: "no time left"}
                continue
            start = monotonic()
            finding = run_attack(judge, name, case)
            findings.append(finding)
            print(f"{_line(finding)}  [{monotonic() - start:.1f} s]", flush=True)
    return {
        "run": len(findings),
        "left_out": dict(Counter(left_out.values())),
        "gained": gains(findings),
        "outcomes": dict(Counter(each.attack.status for each in findings)),
        "surprising": [each.name for each in findings if not each.as_expected],
        "findings": [_plain(each) for each in findings],
    }


def honest(device: str, clock: Clock) -> dict[str, object]:
    """Every honest solution for the device."""
    cases, left_out = runnable(load_corpus(TESTS / "honest" / "cases", HonestCase), device)
    seen: dict[str, Observation] = {}
    with LocalJudge(device) as judge:
        for name, case in cases.items():
            if clock.is_over:
                left_out = {**left_out, name: "no time left"}
                continue
            seen[name] = found = run_honest(judge, name, case)
            why = "" if found.passed else found.log[-300:]
            print(f"{name}: {found.status} {_ms(found)} {list(found.flags)} {why}", flush=True)
    return {
        "run": len(seen),
        "left_out": dict(Counter(left_out.values())),
        "accused": [name for name, each in seen.items() if each.accused],
        "failed": [name for name, each in seen.items() if not each.passed],
        "flags": {name: list(each.flags) for name, each in seen.items() if each.flags},
    }


def ablations(device: str, clock: Clock, layers: Sequence[str] = ()) -> dict[str, object]:
    """Each of these defences left out, every one of the device by default, and its control."""
    cases = load_corpus(TESTS / "attacks" / "cases", AttackCase)
    found: dict[str, object] = {}
    here = [n for n, ablation in ABLATIONS.items() if ablation.device == device.partition(":")[0]]
    for layer in layers or here:
        if clock.is_over:
            found[layer] = "no time left"
            continue
        without = run_ablation(layer, cases, device=device)
        control = run_control(layer, cases)
        for kind, findings in (("without", without), ("with", control)):
            for each in findings:
                print(f"{layer}, {kind}: {_line(each)}", flush=True)
        found[layer] = {
            "without": [_plain(each) for each in without],
            "with": [_plain(each) for each in control],
            "earns_its_place": any(each.gain for each in without)
            and not any(each.gain for each in control),
        }
    return found


def _line(finding: Finding) -> str:
    twin = finding.twin
    times = f"{_ms(finding.attack)} / {_ms(twin)}" if twin else ""
    why = "" if finding.as_expected else f" UNEXPECTED {finding.attack.log[-300:]!r}"
    if twin and not twin.passed:
        why += f" TWIN {twin.status} {twin.log[-300:]!r}"
    flags = list(finding.attack.flags)
    return (
        f"{finding.name}: {finding.attack.status} {times} {flags} gain: {finding.gain or 'no'}{why}"
    )


def _ms(seen: Observation) -> str:
    if seen.timing is None:
        return ""
    return f"{seen.timing.median_ms:.5g} ms{'' if seen.timing.verified else ' unverified'}"


def _plain(finding: Finding) -> dict[str, object]:
    return {
        "name": finding.name,
        "kind": finding.kind,
        "status": finding.attack.status,
        "flags": list(finding.attack.flags),
        "ms": finding.attack.timing and finding.attack.timing.median_ms,
        "verified": finding.attack.timing and finding.attack.timing.verified,
        "twin_ms": finding.twin and finding.twin.timing and finding.twin.timing.median_ms,
        "held_out": finding.held_out and finding.held_out.status,
        "gain": finding.gain,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--only", default="attacks,honest,ablations")
    parser.add_argument("--layers", default="", help="of the ablations; all by default")
    options = parser.parse_args()
    clock = Clock(monotonic() + options.seconds)
    layers = [name for name in options.layers.split(",") if name]
    parts: dict[str, Callable[[], dict[str, object]]] = {
        "attacks": lambda: attacks(options.device, clock),
        "honest": lambda: honest(options.device, clock),
        "ablations": lambda: ablations(options.device, clock, layers),
    }
    numbers: dict[str, object] = {"device": options.device}
    for name in options.only.split(","):
        start = monotonic()
        numbers[name] = parts[name]()
        numbers[f"{name}_seconds"] = monotonic() - start
    record(f"judge-corpus-{options.device.partition(':')[0]}", numbers)


if __name__ == "__main__":
    main()
