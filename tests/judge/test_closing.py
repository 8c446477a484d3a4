"""The judge's process ends by itself, at once, and leaves nothing unsaid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from solbench.judge import Judge
from solbench.spec import Problem

pytestmark = pytest.mark.xdist_group("judge_process")

TALKS = "def run(x, scale):\n    print('said by the reference')\n    return x * scale\n"


def test_what_a_reference_prints_last_is_shown_and_nothing_has_to_be_killed(
    scale_problem: Callable[..., Problem],
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(
        "SOLBENCH_CACHE_DIR", str(tmp_path)
    )  # an admission that is known runs nothing
    with Judge("cpu") as judge:
        judge.admit(scale_problem(TALKS))
        assert judge._process is not None
        process = judge._process._popen
    assert process.returncode == 0
    assert "said by the reference" in capfd.readouterr().err
