"""Calibration: what is kept, how it becomes a device, and the arithmetic on a scripted stopwatch."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import torch

from solbench.errors import DeviceError, InputError
from solbench.hardware import (
    Calibration,
    calibrate,
    calibration_folder,
    detect_hardware,
    load_hardware,
    stored_calibration,
)
from solbench.hardware import _calibrate as module
from solbench.hardware._calibration import merge_peaks, store_calibration
from solbench.hardware._measure import (
    EventStopwatch,
    HostStopwatch,
    Plan,
    Subject,
    matmul_rates,
    measure,
    stream_rates,
)

CALIBRATION = Calibration(
    device="cpu",
    title="Test CPU",
    threads=4,
    torch=torch.__version__,
    date="2026-01-01T00:00:00+00:00",
    clock_mhz=2000.0,
    copy_bytes_per_s=40e9,
    read_bytes_per_s=50e9,
    write_bytes_per_s=30e9,
    update_bytes_per_s=60e9,
    matmul_flops_per_s={"fp64": 80e9, "fp32": 160e9, "bf16": 320e9, "fp16": 4e9},
    l2_bytes=32 << 20,
    l2_bytes_per_s=200e9,
    core_cache_bytes=1 << 20,
    launch_floor_us=1.5,
    seconds=4.0,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOLBENCH_CACHE_DIR", str(tmp_path))
    return tmp_path


class ScriptedStopwatch:
    """Every call takes 2 ms, a tiny one 5 µs; calls are made once, so that they must be valid."""

    def best_s(self, call: Callable[[], object], budget_s: float) -> float:
        call()
        return 2e-3

    def floor_s(self, call: Callable[[], object]) -> float:
        call()
        return 5e-6


SUBJECT = Subject(
    kind="cuda",
    title="Test card",
    threads=0,
    clock_mhz=1980.0,
    l2_bytes=1 << 20,
    core_cache_bytes=0,
    classes=("fp64", "fp32", "tf32", "bf16"),
)
PLAN = Plan(
    stream_bytes=1 << 22,
    piece_bytes=1 << 20,
    cache_bytes=1 << 14,
    matmul_sizes=(16, 64),
    budget_s=1.0,
)


def test_rates_are_bytes_and_flops_over_the_least_time() -> None:
    result = measure(SUBJECT, torch.device("cpu"), ScriptedStopwatch(), PLAN)
    # a piece of 1 MiB in 2 ms
    assert result.read_bytes_per_s == 2**20 / 2e-3
    assert result.write_bytes_per_s == 2**20 / 2e-3
    assert result.copy_bytes_per_s == 2 * 2**20 / 2e-3
    assert result.update_bytes_per_s == 3 * 2**20 / 2e-3
    assert result.dram_bytes_per_s == result.update_bytes_per_s
    assert result.l2_bytes_per_s == 2 * 2**14 / 2e-3
    # 2 * 64^3 FLOPs in 2 ms
    assert result.matmul_flops_per_s == dict.fromkeys(SUBJECT.classes, 524288 / 2e-3)
    assert result.launch_floor_us == pytest.approx(5.0)


def test_calls_walk_through_the_buffers() -> None:
    class Walker(ScriptedStopwatch):
        def best_s(self, call: Callable[[], object], budget_s: float) -> float:
            results = [call() for _ in range(9)]
            places = [
                r.data_ptr() for r in results if isinstance(r, torch.Tensor) and r.numel() > 1
            ]
            if places:
                # four pieces of 1 MiB, then round again
                assert [p - places[0] for p in places[:4]] == [n << 20 for n in range(4)]
                assert places[4] == places[0]
            return 2e-3

    stream_rates(torch.device("cpu"), Walker(), PLAN)


def test_the_tf32_setting_is_given_back() -> None:
    before = torch.backends.cuda.matmul.fp32_precision
    matmul_rates(torch.device("cpu"), ScriptedStopwatch(), PLAN, ("tf32", "fp32"))
    assert torch.backends.cuda.matmul.fp32_precision == before


def test_a_class_that_torch_cannot_multiply_is_left_out() -> None:
    class NoHalf(ScriptedStopwatch):
        def best_s(self, call: Callable[[], object], budget_s: float) -> float:
            result = call()
            if isinstance(result, torch.Tensor) and result.dtype == torch.bfloat16:
                raise RuntimeError("no kernel for this type")
            return 2e-3

    rates = matmul_rates(torch.device("cpu"), NoHalf(), PLAN, ("bf16", "fp32"))
    assert list(rates) == ["fp32"]


def test_a_class_slower_than_the_budget_is_not_tried_larger() -> None:
    seen: list[float] = []

    class Slow(ScriptedStopwatch):
        def best_s(self, call: Callable[[], object], budget_s: float) -> float:
            seen.append(budget_s)
            return 2.0

    rates = matmul_rates(torch.device("cpu"), Slow(), PLAN, ("bf16",))
    assert rates == {"bf16": 2 * 16**3 / 2.0}
    assert len(seen) == 1


def test_host_stopwatch_calls_at_least_once_beyond_warm_up() -> None:
    calls: list[int] = []
    assert HostStopwatch().best_s(lambda: calls.append(1), 0.0) >= 0.0
    assert calls


class FakeCuda:
    """A stream on which each call takes ``call_ms`` and a pair of events costs 9 µs."""

    def __init__(self, call_ms: float) -> None:
        self.call_ms = call_ms
        self.now_ms = 0.0
        self.asleep = 0

    def call(self) -> None:
        assert self.asleep, "calls are queued behind a sleeping stream"
        self.now_ms += self.call_ms

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cuda = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                self.at_ms = cuda.now_ms

            def elapsed_time(self, end: Event) -> float:
                assert not cuda.asleep, "read after synchronising"
                return end.at_ms - self.at_ms + 9e-3

        def wake() -> None:
            cuda.asleep = 0

        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: setattr(cuda, "asleep", cycles))
        monkeypatch.setattr(torch.cuda, "synchronize", wake)
        monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())


def test_slope_between_queues_is_free_of_the_cost_of_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeCuda(call_ms=3e-3)
    fake.install(monkeypatch)
    watch = EventStopwatch(torch.device("cuda:0"))
    assert watch.floor_s(fake.call) == pytest.approx(3e-6)


@pytest.mark.parametrize(
    ("call_ms", "expected_s"),
    [
        (3e-3, 3e-6 + 9e-6 / 200),  # tiny: the longest queue
        (0.5, 0.5e-3 + 9e-6 / 9),  # 5 ms hold 9 calls of 0.509 ms
        (20.0, 20e-3 + 9e-6),  # long: one call
    ],
)
def test_queues_are_as_long_as_makes_events_cheap(
    monkeypatch: pytest.MonkeyPatch, call_ms: float, expected_s: float
) -> None:
    fake = FakeCuda(call_ms)
    fake.install(monkeypatch)
    watch = EventStopwatch(torch.device("cuda:0"))
    assert watch.best_s(fake.call, 0.0) == pytest.approx(expected_s)


def test_cpu_device_is_made_of_the_measured_peaks() -> None:
    cpu = module.hardware_of(CALIBRATION)
    assert cpu.calibrated
    assert cpu.matrix_flops_per_sm_per_clk == {}
    clock = cpu.clock_mhz()
    assert cpu.flops_per_s("fp32", clock) == pytest.approx(160e9)
    assert cpu.flops_per_s("bf16", clock) == pytest.approx(320e9)
    assert cpu.flops_per_s("fp64", clock) == pytest.approx(80e9)
    # torch's fp16 product is emulated here; an fp16 kernel may compute in fp32
    assert cpu.flops_per_s("fp16", clock) == pytest.approx(160e9)
    # fp8 and nvfp4 values are exact in bf16
    assert cpu.flops_per_s("fp8", clock) == pytest.approx(320e9)
    assert cpu.flops_per_s("nvfp4", clock) == pytest.approx(320e9)
    assert cpu.dram_bytes_per_s == 60e9
    assert cpu.sm_count == 4
    assert cpu.on_chip_bytes == 4 * ((1 << 20) + 2048)


def test_measuring_again_keeps_the_better_peak() -> None:
    again = replace(
        CALIBRATION,
        read_bytes_per_s=20e9,
        copy_bytes_per_s=45e9,
        launch_floor_us=1.0,
        matmul_flops_per_s={"fp32": 170e9, "bf16": 100e9},
    )
    merged = merge_peaks(CALIBRATION, again)
    assert merged.read_bytes_per_s == 50e9
    assert merged.copy_bytes_per_s == 45e9
    assert merged.launch_floor_us == 1.0
    assert merged.matmul_flops_per_s == {"fp64": 80e9, "fp32": 170e9, "bf16": 320e9, "fp16": 4e9}


def test_stored_calibration_comes_back_unchanged() -> None:
    assert stored_calibration(CALIBRATION.key) is None
    store_calibration(CALIBRATION)
    assert stored_calibration(CALIBRATION.key) == CALIBRATION


def test_a_damaged_store_names_file_and_remedy() -> None:
    store_calibration(CALIBRATION)
    path = calibration_folder() / f"{CALIBRATION.key}.json"
    path.write_text(path.read_text().replace("40000000000.0", '"fast"'))
    with pytest.raises(InputError, match=r"copy_bytes_per_s.*Delete the file"):
        stored_calibration(CALIBRATION.key)


def test_cpu_is_measured_on_first_use_only(monkeypatch: pytest.MonkeyPatch) -> None:
    announced: list[str] = []

    def measured(threads: int, announce: Callable[[str], None]) -> Calibration:
        announce("measuring")
        return replace(CALIBRATION, title=module.cpu_model(), threads=threads)

    monkeypatch.setattr(module, "_measure_cpu", measured)
    first = load_hardware("cpu", threads=3, announce=announced.append)
    second = load_hardware("cpu", threads=3, announce=announced.append)
    assert announced == ["measuring"]
    assert first == second
    assert first.sm_count == 3
    load_hardware("cpu", threads=2, announce=announced.append)
    assert len(announced) == 2


def test_peaks_of_a_busy_machine_are_measured_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    # rate, whether it was quiet, and how old the measurement is when it is next used
    outcomes = iter([(100e9, False, 11), (160e9, False, 11), (150e9, True, 99), (999e9, True, 0)])

    def measured(threads: int, announce: Callable[[str], None]) -> Calibration:
        fp32, is_quiet, minutes = next(outcomes)
        return replace(
            CALIBRATION,
            title=module.cpu_model(),
            threads=threads,
            matmul_flops_per_s={"fp32": fp32, "fp64": 50e9},
            quiet=is_quiet,
            date=(datetime.now(UTC) - timedelta(minutes=minutes)).isoformat(),
        )

    monkeypatch.setattr(module, "_measure_cpu", measured)
    rates = []
    for _ in range(5):
        cpu = load_hardware("cpu", threads=1)
        rates.append(cpu.flops_per_s("fp32", cpu.clock_mhz()))
    # the third measurement was quiet, so the last two uses measure nothing; the best is kept throughout
    assert rates == pytest.approx([100e9, 160e9, 160e9, 160e9, 160e9])


def test_peaks_of_a_busy_machine_serve_for_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def measured(threads: int, announce: Callable[[str], None]) -> Calibration:
        runs.append(threads)
        now = datetime.now(UTC).isoformat()
        title = module.cpu_model()
        return replace(CALIBRATION, title=title, threads=threads, quiet=False, date=now)

    monkeypatch.setattr(module, "_measure_cpu", measured)
    for _ in range(3):
        load_hardware("cpu", threads=2)
    assert len(runs) == 1


def test_one_thread_times_the_threads_counts_for_products_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def on_threads(threads: int, subject: Subject, plan: Plan) -> Calibration:
        alone = {"fp32": 90e9, "fp64": 20e9}
        together = {"fp32": 100e9, "fp64": 45e9}
        return replace(
            CALIBRATION,
            title=subject.title,
            threads=subject.threads,
            read_bytes_per_s=30e9 if threads == 1 else 25e9,
            matmul_flops_per_s=alone if threads == 1 else together,
        )

    monkeypatch.setattr(module, "_on_threads", on_threads)
    result = calibrate("cpu", threads=2)
    assert result.matmul_flops_per_s == {"fp32": 180e9, "fp64": 45e9}
    assert result.read_bytes_per_s == 30e9
    assert result.runs == 1


def test_a_real_measurement_is_plausible_and_stored(cache: Path) -> None:
    threads = torch.get_num_threads()
    result = calibrate("cpu", threads=1)
    assert torch.get_num_threads() == threads
    assert 1e8 < result.read_bytes_per_s < 1e13
    assert 1e8 < result.matmul_flops_per_s["fp32"] < 1e13
    assert 0.05 < result.launch_floor_us < 1000
    (stored,) = (cache / "calibration").glob("cpu-*.json")
    assert json.loads(stored.read_text())["threads"] == 1


def test_what_is_no_device_is_refused() -> None:
    with pytest.raises(InputError, match="Use cpu, or cuda:N"):
        calibrate("tpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_a_missing_card_is_refused() -> None:
    with pytest.raises(DeviceError, match="sees no CUDA device"):
        calibrate("cuda:0")
    with pytest.raises(DeviceError, match="sees no CUDA device"):
        detect_hardware("cuda:0")


def test_cpu_detects_itself() -> None:
    assert detect_hardware("cpu") == "cpu"


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_card_calibration_stays_below_its_datasheet() -> None:
    name = detect_hardware("cuda:0")
    if name is None:
        pytest.skip("no device file for this card")
    measured, peaks = calibrate("cuda:0"), load_hardware(name)
    assert measured.dram_bytes_per_s < peaks.dram_bytes_per_s
    for precision in ("tf32", "bf16", "fp8"):
        if precision in measured.matmul_flops_per_s:
            peak = peaks.flops_per_s(precision, peaks.clock_mhz())
            assert measured.matmul_flops_per_s[precision] < peak
