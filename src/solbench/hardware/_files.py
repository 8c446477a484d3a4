"""Device files: one TOML each, every number with its unit in the key and its source beside it.

Adding a device means adding a file to this folder. The loader refuses a key that it does not know (a unit that
is missing or another), a number without a source, and rates that disagree with the datasheet the file quotes.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from solbench.errors import InputError, UnknownHardware
from solbench.hardware._device import Hardware

FOLDER = Path(__file__).parent
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "nvfp4", "int8")
DATASHEET_AGREEMENT = 0.015
"""Datasheets round to two or three digits, and quote some rates at a clock a little off the boost clock."""
SOURCELESS = {"name", "title", "device_names", "default_clock", "sources"}

Precision = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "nvfp4", "int8"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DatasheetRate(_Strict):
    """A dense rate that the vendor prints; the file's own numbers must reproduce it."""

    precision: Precision
    unit: Literal["matrix", "simt"]
    tflops: float = Field(gt=0)
    clock_mhz: float = Field(gt=0)


class HardwareFile(_Strict):
    """The keys of a device file."""

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    title: str = Field(min_length=1)
    device_names: tuple[str, ...] = Field(min_length=1)
    """What the driver calls the device, exactly; used for detection."""
    sm_count: int = Field(gt=0)
    default_clock: str
    dram_bytes_per_s: float = Field(gt=0)
    l2_bytes: int = Field(gt=0)
    l2_bytes_per_s: float = Field(gt=0)
    shared_bytes_per_sm: int = Field(gt=0)
    register_bytes_per_sm: int = Field(gt=0)
    tensor_memory_bytes_per_sm: int = Field(default=0, ge=0)
    special_ops_per_sm_per_clk: float = Field(default=0.0, ge=0)
    shared_bytes_per_sm_per_clk: float = Field(default=0.0, ge=0)
    launch_floor_us: float = Field(gt=0)
    matrix_flops_per_sm_per_clk: dict[Precision, float]
    simt_flops_per_sm_per_clk: dict[Literal["fp32", "fp64"], float]
    clocks_mhz: dict[str, float] = Field(min_length=1)
    datasheet: tuple[DatasheetRate, ...] = Field(min_length=1)
    sources: dict[str, str]


def known_hardware() -> tuple[str, ...]:
    """Names that ``load_hardware`` takes: the device files, and ``cpu``.

    >>> "b200" in solbench.known_hardware()
    True
    """
    return ("cpu", *sorted(path.stem for path in FOLDER.glob("*.toml")))


def read_hardware_file(path: Path) -> HardwareFile:
    """Read and validate one device file. Raises ``InputError`` that names file, key and remedy."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(str(error), file=path, remedy="A device file is TOML in UTF-8.") from error
    try:
        parsed = HardwareFile.model_validate(raw)
    except ValidationError as error:
        raise _explained(error, path) from error
    _check(parsed, path)
    return parsed


def device_of(parsed: HardwareFile) -> Hardware:
    """The file's numbers as the package's data."""
    return Hardware(
        name=parsed.name,
        title=parsed.title,
        sm_count=parsed.sm_count,
        matrix_flops_per_sm_per_clk={
            str(key): value for key, value in parsed.matrix_flops_per_sm_per_clk.items()
        },
        simt_flops_per_sm_per_clk={
            str(key): value for key, value in parsed.simt_flops_per_sm_per_clk.items()
        },
        clocks_mhz=dict(parsed.clocks_mhz),
        default_clock=parsed.default_clock,
        dram_bytes_per_s=parsed.dram_bytes_per_s,
        l2_bytes=parsed.l2_bytes,
        l2_bytes_per_s=parsed.l2_bytes_per_s,
        shared_bytes_per_sm=parsed.shared_bytes_per_sm,
        register_bytes_per_sm=parsed.register_bytes_per_sm,
        tensor_memory_bytes_per_sm=parsed.tensor_memory_bytes_per_sm,
        special_ops_per_sm_per_clk=parsed.special_ops_per_sm_per_clk,
        shared_bytes_per_sm_per_clk=parsed.shared_bytes_per_sm_per_clk,
        launch_floor_us=parsed.launch_floor_us,
        sources=dict(parsed.sources),
    )


def path_of(name: str) -> Path:
    """The file of a device name, or the path itself if ``name`` ends in ``.toml``."""
    if name.endswith(".toml"):
        return Path(name)
    path = FOLDER / f"{name}.toml"
    if name not in known_hardware():
        raise unknown_hardware(name)
    return path


def unknown_hardware(name: str) -> UnknownHardware:
    """The error for a name without a file; it lists the known ones, likely ones first."""
    likely = get_close_matches(name.lower().replace("-", "_"), known_hardware(), n=2)
    hint = f"Did you mean {' or '.join(likely)}? " if likely else ""
    return UnknownHardware(
        f"unknown hardware {name!r}",
        remedy=f"{hint}Known: {', '.join(known_hardware())}; or the path of a .toml file.",
    )


def _explained(error: ValidationError, path: Path) -> InputError:
    # A misspelt key is also a missing one: the misspelling tells more.
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    what, remedy = first["msg"], None
    if first["type"] == "extra_forbidden":
        known = [*HardwareFile.model_fields]
        likely = get_close_matches(key, known, n=1, cutoff=0.5)
        what = "unknown key"
        remedy = "A key carries its unit. " + (
            f"Did you mean {likely[0]}?" if likely else f"Known: {', '.join(known)}."
        )
    return InputError(what, file=path, key=key, remedy=remedy)


def _check(parsed: HardwareFile, path: Path) -> None:
    if parsed.name != path.stem:
        raise InputError(
            f"is {parsed.name!r}", file=path, key="name", remedy="Name it as the file is named."
        )
    if parsed.default_clock not in parsed.clocks_mhz:
        raise InputError(
            f"{parsed.default_clock!r} is not among clocks_mhz", file=path, key="default_clock"
        )
    for key in sorted(parsed.model_fields_set - SOURCELESS):
        if not parsed.sources.get(key):
            raise InputError(
                "has no source",
                file=path,
                key=key,
                remedy=f"Say under [sources] where {key} is from.",
            )
    for rate in parsed.datasheet:
        _check_datasheet(parsed, rate, path)


def _check_datasheet(parsed: HardwareFile, rate: DatasheetRate, path: Path) -> None:
    device = device_of(parsed)
    table = (
        device.matrix_flops_per_sm_per_clk
        if rate.unit == "matrix"
        else device.simt_flops_per_sm_per_clk
    )
    tflops = table.get(rate.precision, 0.0) * parsed.sm_count * rate.clock_mhz * 1e6 / 1e12
    if abs(tflops / rate.tflops - 1) > DATASHEET_AGREEMENT:
        raise InputError(
            f"{rate.unit} {rate.precision} gives {tflops:.1f} TFLOP/s, the datasheet {rate.tflops}",
            file=path,
            key="datasheet",
            remedy="Rates are dense and a multiply-add is 2 FLOPs.",
        )
