"""Device files: anchors worked out by hand, and what a wrong file is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from solbench.errors import InputError, UnknownHardware, UnsupportedPrecision
from solbench.hardware import (
    hardware_named,
    known_hardware,
    load_hardware,
    read_hardware_file,
)

FOLDER = Path(__file__).parents[2] / "src" / "solbench" / "hardware"
DEVICES = [name for name in known_hardware() if name != "cpu"]


@pytest.mark.parametrize(
    ("device", "precision", "clock", "pflops"),
    [
        # 148 SMs * 8192 FLOP/clk * 1.5 GHz = 1.818624e15, fp8 twice, nvfp4 four times, tf32 half of it
        ("b200", "bf16", "locked", 1.818624),
        ("b200", "fp8", "locked", 3.637248),
        ("b200", "nvfp4", "locked", 7.274496),
        ("b200", "tf32", "locked", 0.909312),
        # 132 * 4096 * 1.83 GHz = 0.98942976e15; at 1.98 GHz 1.07053056e15
        ("h200", "bf16", 1830, 0.98942976),
        ("h200", "bf16", None, 1.07053056),
        ("h100_sxm", "fp8", "max", 2.14106112),
        # 132 * 256 * 1.98 GHz
        ("h200", "fp32", None, 0.06690816),
        # 108 * 2048 * 1.41 GHz
        ("a100_80", "bf16", None, 0.31186944),
    ],
)
def test_peak_rate_equals_the_hand_worked_anchor(
    device: str, precision: str, clock: str | float | None, pflops: float
) -> None:
    hardware = load_hardware(device)
    assert hardware.flops_per_s(precision, hardware.clock_mhz(clock)) == pytest.approx(
        pflops * 1e15, rel=1e-12
    )


def test_h200_memory_and_on_chip_capacity() -> None:
    h200 = load_hardware("h200")
    assert h200.dram_bytes_per_s == 4.8e12
    assert h200.l2_bytes == 60 * 2**20
    # (256 KiB L1 and shared + 256 KiB registers) * 132 SMs = 66 MiB
    assert h200.on_chip_bytes == 66 * 2**20


@pytest.mark.parametrize("device", DEVICES)
def test_default_clock_is_the_highest_the_device_can_reach(device: str) -> None:
    hardware = load_hardware(device)
    assert hardware.clock_mhz() == max(hardware.clocks_mhz.values())


@pytest.mark.parametrize("device", DEVICES)
def test_rates_reproduce_the_datasheet(device: str) -> None:
    parsed = read_hardware_file(FOLDER / f"{device}.toml")
    hardware = load_hardware(device)
    for rate in parsed.datasheet:
        table = (
            hardware.matrix_flops_per_sm_per_clk
            if rate.unit == "matrix"
            else hardware.simt_flops_per_sm_per_clk
        )
        tflops = table[rate.precision] * hardware.sm_count * rate.clock_mhz / 1e6
        assert tflops == pytest.approx(rate.tflops, rel=0.015), rate


@pytest.mark.parametrize("device", DEVICES)
def test_every_number_has_a_source_with_a_year_or_a_reason(device: str) -> None:
    hardware = load_hardware(device)
    for key in ("sm_count", "dram_bytes_per_s", "clocks_mhz", "matrix_flops_per_sm_per_clk"):
        assert len(hardware.sources[key]) > 10


@pytest.mark.parametrize("device", DEVICES)
def test_narrower_classes_are_never_slower(device: str) -> None:
    rates = load_hardware(device).matrix_flops_per_sm_per_clk
    order = [name for name in ("tf32", "bf16", "fp8", "nvfp4") if name in rates]
    assert [rates[name] for name in order] == sorted(rates[name] for name in order)


@pytest.mark.parametrize(
    ("driver_name", "device"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100_sxm"),
        ("NVIDIA H100 PCIe", "h100_pcie"),
        ("NVIDIA B200", "b200"),
        ("NVIDIA GB200", "gb200"),
        ("NVIDIA A100-SXM4-40GB", "a100_40"),
        ("NVIDIA A100 80GB PCIe", "a100_80"),
        ("NVIDIA H200 NVL", None),
        ("NVIDIA GeForce GTX 1080", None),
    ],
)
def test_driver_names_are_matched_whole(driver_name: str, device: str | None) -> None:
    assert hardware_named(driver_name) == device


def test_no_driver_name_is_claimed_twice() -> None:
    names = [n for d in DEVICES for n in read_hardware_file(FOLDER / f"{d}.toml").device_names]
    assert len(names) == len(set(names))


def test_unknown_name_lists_the_known_and_the_likely() -> None:
    with pytest.raises(UnknownHardware, match=r"h20.*Did you mean h200.*Known: cpu, a100_40"):
        load_hardware("h20")


def test_missing_precision_is_an_error_not_a_fallback() -> None:
    a100 = load_hardware("a100_80")
    with pytest.raises(UnsupportedPrecision, match="a100_80 has no fp8 unit"):
        a100.flops_per_s("fp8", a100.clock_mhz())


def test_unknown_clock_lists_the_known() -> None:
    with pytest.raises(InputError, match=r"no clock named 'turbo'.*datasheet, max"):
        load_hardware("h200").clock_mhz("turbo")


def variant(tmp_path: Path, old: str, new: str) -> str:
    text = (FOLDER / "h200.toml").read_text()
    assert old in text
    path = tmp_path / "h200.toml"
    path.write_text(text.replace(old, new))
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("l2_bytes = ", "l2_mb = ", "h200.toml: l2_mb: unknown key.*unit.*Did you mean l2_bytes"),
        ("dram_bytes_per_s = 4.8e12", "", "h200.toml: dram_bytes_per_s: Field required"),
        ("sm_count = 132", "sm_count = 0", "h200.toml: sm_count: .*greater than 0"),
        ("sm_count = 132", "sm_count = 144", "datasheet: matrix bf16 gives .*989.5"),
        ("bf16 = 4096", "bf16 = 8192", "datasheet: matrix bf16 gives 1978.9 TFLOP/s"),
        (
            'launch_floor_us = "measured',
            'launch_floor = "measured',
            "launch_floor_us: has no source",
        ),
        ('default_clock = "max"', 'default_clock = "top"', "default_clock: 'top' is not among"),
        ('name = "h200"', 'name = "h201"', "name: is 'h201'. Name it as the file is named"),
        ("sm_count = 132", "sm_count = = 132", "A device file is TOML"),
        ("int8 = 8192", "int9 = 8192", "matrix_flops_per_sm_per_clk.int9: "),
    ],
)
def test_a_wrong_file_names_file_key_and_remedy(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(InputError, match=f"(?s){message}"):
        load_hardware(variant(tmp_path, old, new))


def test_devices_load_without_torch() -> None:
    code = (
        "import sys; from solbench.hardware import load_hardware, known_hardware;"
        "[load_hardware(n) for n in known_hardware() if n != 'cpu']; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_file_of_ones_own_loads_by_path(tmp_path: Path) -> None:
    path = variant(tmp_path, "dram_bytes_per_s = 4.8e12", "dram_bytes_per_s = 4.0e12")
    assert load_hardware(path).dram_bytes_per_s == 4.0e12
