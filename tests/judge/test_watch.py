"""The watch kernel without a GPU: that it assembles, and what its report says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from solbench.judge import _watch
from solbench.judge._watch import LIMIT_NS, Watched


def test_the_kernel_assembles_for_old_and_new_cards(tmp_path: Path):
    triton = pytest.importorskip("triton")
    assembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    if not assembler.exists():
        pytest.skip("triton brings no assembler here")
    ptx = tmp_path / "watch.ptx"
    ptx.write_bytes(_watch._PTX.rstrip(b"\0"))
    for card in ("sm_75", "sm_90"):
        command = [str(assembler), f"-arch={card}", str(ptx), "-o", str(tmp_path / "watch.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_a_turn_of_another_process_is_evidence():
    seen = Watched(0, 4_570_000, longest_gap_ns=2_400_000, gaps=1, gaps_ns=2_400_000, cycles=1)
    assert not seen.undisturbed
    assert seen.complete
    assert "1 times for 2400 us in the 4570 us" in seen.evidence()


def test_one_that_ran_into_its_limit_was_not_told_to_end():
    assert not Watched(0, LIMIT_NS + 500, 1_000, 0, 0, 1).complete
