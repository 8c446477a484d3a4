"""``solbench calibrate``: measure the machine at hand."""

from __future__ import annotations

from typing import Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json


@app.command("calibrate")
def calibrate_command(
    device: Annotated[
        str,
        typer.Option(
            "--device", metavar="DEVICE", help="What to measure: cpu, or cuda:0 and so on."
        ),
    ] = "cpu",
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            help="CPU threads; default: the CPUs this process may use.",
        ),
    ] = None,
    json_lines: Json = False,
) -> None:
    """Measure memory bandwidth, matrix throughput and call floor, and store the peaks.

    They are the peaks of the hardware 'cpu', and on a GPU the realistic rates of T_attainable.
    Nothing is set on the device: clocks stay as they are. Exit code 0, or 3 for a device that is missing.

    Example: solbench calibrate --device cuda:0
    """
    from solbench.hardware import calibrate, calibration_folder

    measured = calibrate(device, threads=threads, announce=_console.note)
    if json_lines:
        _console.emit(measured)
        return
    from solbench.report import calibration_report

    _console.out().print(calibration_report(measured))
    _console.note(
        f"stored under {calibration_folder()}; of several, the better of each figure counts"
    )
