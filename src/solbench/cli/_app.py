"""The application object and the one place where exceptions become messages and exit codes."""

from __future__ import annotations

import errno
import traceback
from typing import Annotated, Any, cast

import typer
from rich.text import Text
from typer.core import TyperGroup

from solbench import __version__
from solbench.cli._console import ExitCode, err, out
from solbench.errors import DeviceError, InputError, JailError, MissingExtra, SolBenchError

_ENVIRONMENT_ERRORS = (MissingExtra, JailError, DeviceError)
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
_USAGE_ERROR = cast(type[Exception], typer.BadParameter.__base__)
"""Click's UsageError. Typer vendors click in some versions, so importing click may give another class."""
_HANDLED_BY_TYPER = (_USAGE_ERROR, typer.Exit, typer.Abort)


_MOST_LINES = 10
"""Of one error message: a file of the wrong kind can have an error on every line."""


def exit_code(error: SolBenchError) -> ExitCode:
    """Environment problems are 3, bad input is 2, everything else is a plain no."""
    if isinstance(error, _ENVIRONMENT_ERRORS):
        return ExitCode.ENVIRONMENT
    return ExitCode.USAGE if isinstance(error, InputError) else ExitCode.NO


class _Commands(TyperGroup):
    """Runs a command behind the error boundary."""

    def invoke(self, ctx: Any) -> Any:
        debug = bool(ctx.params.get("debug"))
        try:
            return super().invoke(ctx)
        except SolBenchError as error:
            _show("error", str(error), error, debug)
            raise typer.Exit(exit_code(error)) from None
        except KeyboardInterrupt:
            _show("interrupted", "stopped by the user", None, False)
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except (*_HANDLED_BY_TYPER, BrokenPipeError):
            raise
        except OSError as error:
            if error.errno in _DISK_ERRORS:
                _show("error", f"cannot write: {error.strerror}", error, debug)
                raise typer.Exit(ExitCode.ENVIRONMENT) from None
            if error.filename is None:
                raise _internal(error, debug) from None
            _show("error", f"{error.filename}: {error.strerror}", error, debug)
            raise typer.Exit(ExitCode.USAGE) from None
        except ModuleNotFoundError as error:
            if (error.name or "solbench").startswith("solbench"):
                raise _internal(error, debug) from None
            remedy = "Install it: 'solbench doctor' says how."
            _show("error", f"the package '{error.name}' is not installed. {remedy}", error, debug)
            raise typer.Exit(ExitCode.ENVIRONMENT) from None
        except Exception as error:  # noqa: BLE001 - process boundary: a bug becomes a message
            raise _internal(error, debug) from None


def _internal(error: Exception, debug: bool) -> typer.Exit:
    hint = "This is a bug in SolBench; run again with 'solbench --debug ...' for details."
    _show("internal error", f"{type(error).__name__}: {error}. {hint}", error, debug)
    return typer.Exit(ExitCode.INTERNAL)


def _show(kind: str, message: str, error: BaseException | None, debug: bool) -> None:
    if debug and error is not None:
        err().print("".join(traceback.format_exception(error)), markup=False, end="")
    lines = message.splitlines()
    if len(lines) > _MOST_LINES and not debug:
        more = f"… and {len(lines) - _MOST_LINES} more; 'solbench check PATH' lists them all"
        lines = [*lines[:_MOST_LINES], more]
    err().print(Text.assemble((f"{kind}: ", "bold red"), "\n".join(lines)))


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 yes; 1 the answer is no; 2 bad input; 3 something is missing on this "
    "machine; 4 a bug of ours; 130 interrupted.",
)


def _version(wanted: bool) -> None:
    if wanted:
        out().print(f"solbench {__version__}", markup=False)
        raise typer.Exit


@app.callback()
def _root(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback behind an error message.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """How fast could a GPU kernel be, how fast is it, and can that number be trusted."""
