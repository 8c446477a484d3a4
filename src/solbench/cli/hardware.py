"""``solbench hardware``: the devices that bounds can be priced on, and every number's source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json

if TYPE_CHECKING:
    from solbench.hardware import Hardware

hardware_app = typer.Typer(no_args_is_help=True, help="List the known devices, or show one.")
app.add_typer(hardware_app, name="hardware")


@hardware_app.command("list")
def list_command(json_lines: Json = False) -> None:
    """List the devices that have a hardware file. ``cpu`` is measured, not listed with numbers.

    Exit code 0.

    Example: solbench hardware list
    """
    from solbench.hardware import known_hardware, load_hardware

    devices = [load_hardware(name) for name in known_hardware() if name != "cpu"]
    if json_lines:
        from solbench.cli._lines import CpuLine

        _console.emit(CpuLine())
        for device in devices:
            _console.emit(device)
        return
    from solbench.report import hardware_table

    _console.out().print(hardware_table(devices))
    _console.out().print("cpu: this machine's processor, measured by 'solbench calibrate'")


@hardware_app.command("show")
def show_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from the list, or a file.")],
    json_lines: Json = False,
) -> None:
    """Show one device's peaks with their sources. The first use of ``cpu`` measures it.

    Exit code 0, or 2 for a device that is not known.

    Example: solbench hardware show h200
    """
    from solbench.hardware import load_hardware

    device: Hardware = load_hardware(name, announce=_console.note)
    if json_lines:
        _console.emit(device)
        return
    from solbench.report import hardware_report

    _console.out().print(hardware_report(device))
