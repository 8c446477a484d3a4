"""Every exception that SolBench raises on purpose.

    SolBenchError
    ├── InputError                 what the user gave is wrong; names file, key and remedy
    │   ├── SpecError              a definition, workload, solution or trace file
    │   │   ├── AxisError          an axis expression or its value
    │   │   └── SpecErrors         several of them, found in one pass
    │   ├── UnknownHardware        no such device file
    │   ├── UnsupportedPrecision   the device lacks this precision class
    │   └── MissingExtra           an optional dependency is not installed
    ├── CaptureError               the reference cannot be turned into a graph
    │   └── NeedsValues            ... at this rung of the ladder; a higher one is needed
    ├── VerificationError          the lifted graph disagrees with the reference
    ├── ReferenceFailed            the reference itself fails when run
    ├── BuildError                 a submission does not compile
    ├── JailError                  the jail cannot be set up as asked
    ├── DeviceError                a device is missing or refuses
    └── JudgeDied                  the judge's own process ended, and no problem is to blame

Failures of a *submission* are not exceptions: they are verdicts (see ``solbench.judge``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


class SolBenchError(Exception):
    """Base of all of them. ``str(error)`` is fit to be shown to a user.

    >>> try:
    ...     solbench.load_problem("nowhere")
    ... except solbench.SolBenchError as error:
    ...     print(error)
    nowhere: no such file or folder. Name a problem folder, or its definition.json.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross processes as they are, whatever their ``__init__`` takes."""
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(
    kind: type[SolBenchError], args: tuple[Any, ...], state: dict[str, Any]
) -> SolBenchError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class InputError(SolBenchError):
    """What the user gave is wrong.

    The message reads ``file:line: key: what is wrong. remedy``; parts that do not apply are left out.
    """

    def __init__(
        self,
        what: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        key: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.what = what
        self.file = str(file) if file is not None else None
        self.line = line
        self.key = key
        self.remedy = remedy
        super().__init__(self._render())

    def _render(self) -> str:
        place = self.file or ""
        if place and self.line is not None:
            place = f"{place}:{self.line}"
        head = ": ".join(part for part in (place, self.key, self.what) if part)
        return f"{head}. {self.remedy}" if self.remedy else head


class SpecError(InputError):
    """A definition, workload, solution or trace file is not valid."""


class AxisError(SpecError):
    """An axis expression cannot be evaluated; ``key`` names the axis."""


class SpecErrors(SpecError):
    """Several problems found in one pass; ``errors`` holds each, the message one a line."""

    def __init__(self, errors: Sequence[SpecError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in errors))


class UnknownHardware(InputError):
    """There is no hardware file of this name; the remedy lists the known ones."""


class UnsupportedPrecision(InputError):
    """The device has no unit for this precision class."""


class MissingExtra(InputError):
    """An optional dependency is missing, or something that it needs itself; the remedy is the pip command.

    ``error``: what its import raised.
    """

    def __init__(self, package: str, extra: str, error: ImportError | None = None) -> None:
        if error is not None and _is_installed(package):
            what = f"the package '{package}' is installed, but cannot be imported: {error}"
            remedy = f"Install what it lacks with: pip install --upgrade 'solbench[{extra}]'"
        else:
            what = f"the package '{package}' is not installed"
            remedy = f"Install it with: pip install 'solbench[{extra}]'"
        super().__init__(what, remedy=remedy)


def _is_installed(package: str) -> bool:
    # Not above: every process imports this module.
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


class CaptureError(SolBenchError):
    """The reference cannot be captured; ``location`` names its line."""

    def __init__(self, what: str, *, location: str | None = None) -> None:
        self.what = what
        self.location = location
        super().__init__(f"{location}: {what}" if location else what)


class NeedsValues(CaptureError):
    """The program asks for a tensor's value that this rung does not have; ``rung`` would."""

    def __init__(self, what: str, *, rung: str, location: str | None = None) -> None:
        self.rung = rung
        super().__init__(f"{what} (needs the '{rung}' rung)", location=location)


class VerificationError(SolBenchError):
    """The lifted graph and the reference disagree on the same inputs."""


class ReferenceFailed(SolBenchError):
    """The reference raised, or returned something that is not its declared outputs."""


class BuildError(SolBenchError):
    """A submission does not compile; ``first_error`` is the compiler's first error with its line."""

    def __init__(self, first_error: str, log: str) -> None:
        self.first_error = first_error
        self.log = log
        super().__init__(first_error)


class JailError(SolBenchError):
    """The jail cannot be set up as asked (for example with ``--require-jail``)."""


class DeviceError(SolBenchError):
    """A device is missing, busy, or refuses an operation."""


class JudgeDied(SolBenchError):
    """The judge's own process ended, and not in a problem's code."""
