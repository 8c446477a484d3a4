"""With a defence left out, an attack gets through: a check that nothing can trip is no check.

Takes minutes: ``SOLBENCH_SLOW=1 pytest tests/attacks/test_ablation.py``, or ``solbench attacks run --ablate``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from solbench.judge import Budget, StopRule
from solbench.judge.attacks import ABLATIONS, AttackCase, load_corpus, run_ablation, run_control

pytestmark = pytest.mark.xdist_group("judge")

CORPUS = load_corpus(Path(__file__).parent / "cases", AttackCase)
_BRIEF = StopRule(minimum=12, least=8, seconds=1.5, relative=0.05)
ON_CPU = [name for name, ablation in ABLATIONS.items() if ablation.device == "cpu"]
slow = pytest.mark.skipif(
    "SOLBENCH_SLOW" not in os.environ, reason="set SOLBENCH_SLOW=1: takes minutes"
)
BUDGETS = {"reward": Budget(_BRIEF, _BRIEF)}


@pytest.mark.parametrize("layer", ABLATIONS)
def test_every_ablation_names_cases_of_the_corpus(layer: str) -> None:
    assert set(ABLATIONS[layer].breached_by) <= set(CORPUS)


@slow
@pytest.mark.parametrize("layer", ON_CPU)
def test_without_a_defence_an_attack_gains(layer: str) -> None:
    found = run_ablation(layer, CORPUS, BUDGETS)
    assert any(each.gain for each in found), found


@slow
@pytest.mark.parametrize("layer", ON_CPU)
def test_with_the_defence_none_of_them_does(layer: str) -> None:
    found = run_control(layer, CORPUS, BUDGETS)
    assert not any(each.gain for each in found), found
