"""With a defence left out, an attack gets through: a check that nothing can trip is no check.

Takes minutes: ``SOLBENCH_SLOW=1 pytest tests/attacks/test_ablation.py``, or ``solbench attacks run --ablate``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from solbench.judge import Budget, StopRule
from solbench.judge.attacks import ABLATIONS, AttackCase, load_corpus, run_ablation

pytestmark = pytest.mark.xdist_group("judge")

CORPUS = load_corpus(Path(__file__).parent / "cases", AttackCase)
_BRIEF = StopRule(minimum=12, least=8, seconds=0.5, relative=0.05)
BUDGETS = {"reward": Budget(_BRIEF, _BRIEF)}


@pytest.mark.parametrize("layer", ABLATIONS)
def test_every_ablation_names_cases_of_the_corpus(layer: str) -> None:
    assert set(ABLATIONS[layer].breached_by) <= set(CORPUS)


@pytest.mark.skipif("SOLBENCH_SLOW" not in os.environ, reason="set SOLBENCH_SLOW=1: takes minutes")
@pytest.mark.parametrize("layer", ABLATIONS)
def test_without_a_defence_an_attack_gains(layer: str) -> None:
    found = run_ablation(layer, CORPUS, BUDGETS)
    assert any(each.gain for each in found), found
