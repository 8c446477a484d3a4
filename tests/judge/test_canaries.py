"""The judge's check of itself, on the CPU and in real jails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from solbench.errors import JailError
from solbench.jail import start_zygote
from solbench.judge import _canaries
from solbench.judge._canaries import CANARIES, Canary, prove
from solbench.judge._device import open_device
from solbench.judge._floor import NO_FLOOR


@pytest.fixture(scope="module")
def zygote():
    with start_zygote() as started:
        yield started


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_canaries, "cache_root", lambda: tmp_path)
    return tmp_path / "canaries"


def test_a_sound_judge_is_known_from_then_on(zygote, cache, monkeypatch):
    device = open_device("cpu")
    prove(zygote, device, NO_FLOOR)
    assert len(list(cache.iterdir())) == 1
    monkeypatch.setattr(_canaries, "_verdict", lambda *_: pytest.fail("judged again"))
    prove(zygote, device, NO_FLOOR)


@pytest.mark.parametrize(
    ("source", "expected"),
    [(CANARIES[0].source, "INCORRECT_NUMERICAL"), (CANARIES[1].source, "PASSED")],
    ids=["a cheat that is not found", "an accused honest one"],
)
def test_a_wrong_verdict_stops_the_judge_and_is_not_remembered(
    zygote, cache, monkeypatch, source, expected
):
    monkeypatch.setattr(_canaries, "CANARIES", (Canary("test", source, (expected,)),))
    with pytest.raises(JailError, match=f"'test', came out as .*not as {expected}"):
        prove(zygote, open_device("cpu"), NO_FLOOR)
    assert not cache.exists()


def test_a_worker_that_was_killed_says_nothing_about_the_judge(cache, monkeypatch):
    verdicts = iter(["RUNTIME_ERROR", "PASSED", "TIMEOUT", "RUNTIME_ERROR", "INCORRECT_NUMERICAL"])
    monkeypatch.setattr(_canaries, "_verdict", lambda *_: next(verdicts))
    prove(None, open_device("cpu"), NO_FLOOR)
    assert not list(verdicts)


def test_a_judge_that_cannot_give_a_verdict_refuses_to_work(cache, monkeypatch):
    monkeypatch.setattr(_canaries, "_verdict", lambda *_: "RUNTIME_ERROR")
    with pytest.raises(JailError, match="came out as RUNTIME_ERROR"):
        prove(None, open_device("cpu"), NO_FLOOR)


def test_new_code_of_the_judge_is_proved_anew(monkeypatch):
    device = open_device("cpu")
    before = _canaries._key(device)
    monkeypatch.setattr(_canaries, "_code", lambda: iter(["_measure.py 1 2"]))
    assert _canaries._key(device) != before


def test_the_kernel_that_starts_early_assembles(tmp_path: Path):
    """As far as this can be seen without a GPU."""
    triton = pytest.importorskip("triton")
    assembler = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    if not assembler.exists():
        pytest.skip("triton brings no assembler here")
    source = CANARIES[2].source
    scope: dict[str, bytes] = {}
    exec(source[source.index("PTX") : source.index("ready")], scope)
    ptx = tmp_path / "early.ptx"
    ptx.write_bytes(scope["PTX"].rstrip(b"\0"))
    command = [str(assembler), "-arch=sm_90", str(ptx), "-o", str(tmp_path / "early.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
