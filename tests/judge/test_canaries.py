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
    monkeypatch.setattr(_canaries, "Trial", lambda *_: pytest.fail("judged again"))
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


@pytest.fixture
def trials(monkeypatch) -> tuple[list[str], list[str]]:
    """Verdicts that trials come to in turn, to be filled in; and what happened to trials, in order."""
    verdicts: list[str] = []
    events: list[str] = []

    class Trial:
        def __init__(self, zygote: object, device: object, canary: Canary) -> None:
            self.canary = canary
            self._note("fork")

        def _note(self, event: str) -> None:
            events.append(f"{event} {self.canary.name}")

        def prepare(self) -> None:
            self._note("prepare")

        def verdict(self, floor: object) -> str:
            self._note("judge")
            return verdicts.pop(0)

        def __enter__(self) -> Trial:
            return self

        def __exit__(self, *_: object) -> None:
            self._note("close")

    monkeypatch.setattr(_canaries, "Trial", Trial)
    monkeypatch.setattr(
        _canaries, "CANARIES", (Canary("a", "", ("PASSED",)), Canary("b", "", ("REWARD_HACK",)))
    )
    return verdicts, events


def test_all_workers_are_ready_before_one_is_judged_and_live_until_the_last_is(cache, trials):
    verdicts, events = trials
    verdicts += ["PASSED", "REWARD_HACK"]
    prove(None, open_device("cpu"), NO_FLOOR)
    assert events == [
        "fork a", "fork b", "prepare a", "prepare b", "judge a", "judge b", "close b", "close a",
    ]  # fmt: skip
    assert cache.exists()


def test_a_worker_that_was_killed_says_nothing_about_the_judge(cache, trials):
    verdicts, events = trials
    verdicts += ["RUNTIME_ERROR", "PASSED", "TIMEOUT", "RUNTIME_ERROR", "REWARD_HACK"]
    prove(None, open_device("cpu"), NO_FLOOR)
    assert not verdicts
    # a twice and b three times, each again in a worker of its own.
    assert [events.count(f"fork {name}") for name in "ab"] == [2, 3]
    assert [events.count(f"close {name}") for name in "ab"] == [2, 3]


def test_a_judge_that_cannot_give_a_verdict_refuses_to_work(cache, trials):
    verdicts, events = trials
    verdicts += 3 * ["RUNTIME_ERROR"]
    with pytest.raises(JailError, match="came out as RUNTIME_ERROR"):
        prove(None, open_device("cpu"), NO_FLOOR)
    assert events[-2:] == ["close b", "close a"]
    assert not cache.exists()


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
