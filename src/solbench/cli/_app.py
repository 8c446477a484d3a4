"""The application object and the one place where exceptions become messages and exit codes."""

from __future__ import annotations

import errno
import sys
import traceback
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.text import Text
from typer.core import TyperGroup

from solbench import __version__
from solbench.cli._console import ExitCode, abandon_stdout, emit, err, out, records_only
from solbench.errors import (
    DeviceError,
    InputError,
    JailError,
    MissingExtra,
    SolBenchError,
    SpecError,
    SpecErrors,
)

if TYPE_CHECKING:
    from solbench.cli._lines import ErrorLine

_ENVIRONMENT_ERRORS = (MissingExtra, JailError, DeviceError)
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
_USAGE_ERROR = cast(type[Exception], typer.BadParameter.__base__)
"""Click's UsageError. Typer vendors click in some versions, so importing click may give another class."""
_HANDLED_BY_TYPER = (_USAGE_ERROR, typer.Exit, typer.Abort)


_MOST_LINES = 10
"""Of one error message: a file of the wrong kind can have an error on every line."""


def exit_code(error: SolBenchError) -> ExitCode:
    """Environment problems are 3, a full disk among them, bad input is 2, everything else is a plain no."""
    if isinstance(error, _ENVIRONMENT_ERRORS) or _is_of_the_disk(error.__cause__):
        return ExitCode.ENVIRONMENT
    return ExitCode.USAGE if isinstance(error, InputError) else ExitCode.NO


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a command did not do its work."""

    code: ExitCode
    what: str
    kind: str = "error"
    """The message's first word."""
    file: str | None = None
    line: int | None = None
    key: str | None = None
    remedy: str | None = None
    others: tuple[SpecError, ...] = ()
    text: str = ""
    """The whole as a person reads it; put together from the parts if it is empty."""

    def message(self) -> str:
        head = f"{self.file}: {self.what}" if self.file else self.what
        return self.text or (f"{head}. {self.remedy}" if self.remedy else head)

    def record(self) -> ErrorLine:
        from solbench.cli._lines import ErrorLine, OtherError

        return ErrorLine(
            error=self.what,
            exit_code=int(self.code),
            file=self.file,
            line=self.line,
            key=self.key,
            remedy=self.remedy,
            others=tuple(
                OtherError(error=e.what, file=e.file, line=e.line, key=e.key, remedy=e.remedy)
                for e in self.others
            ),
        )


class _Commands(TyperGroup):
    """Runs a command behind the error boundary."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        json_lines = "--json" in args
        try:
            return super().make_context(info_name, args, *rest, **extra)
        except _USAGE_ERROR as error:
            if json_lines:
                emit(_usage(error).record())
            raise

    def invoke(self, ctx: Any) -> Any:
        debug = bool(ctx.params.get("debug"))
        json_lines = "--json" in ctx.args
        try:
            with records_only() if json_lines else nullcontext():
                result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except _USAGE_ERROR as error:
            if json_lines:
                emit(_usage(error).record())
            raise
        except (*_HANDLED_BY_TYPER, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - process boundary
            failure = _failure(error)
            _show(failure, error, debug)
            if not _can_flush():
                abandon_stdout()
            elif json_lines:
                emit(failure.record())
            raise typer.Exit(failure.code) from None


def _can_flush() -> bool:
    """Whether stdout takes what waits for it: it may be the very file that is full."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _usage(error: Exception) -> _Failure:
    """What typer itself refuses; it shows the message."""
    named = getattr(getattr(error, "param", None), "opts", None)
    what = str(getattr(error, "message", "") or error)
    return _Failure(ExitCode.USAGE, what, key=max(named, key=len) if named else None)


def _failure(error: BaseException) -> _Failure:
    if isinstance(error, KeyboardInterrupt):
        return _Failure(ExitCode.INTERRUPTED, "stopped by the user", "interrupted")
    if isinstance(error, SolBenchError):
        return _ours(error)
    if isinstance(error, OSError) and _is_of_the_disk(error):
        file = None if error.filename is None else str(error.filename)
        return _Failure(ExitCode.ENVIRONMENT, f"cannot write: {error.strerror}", file=file)
    if isinstance(error, OSError) and error.filename is not None:
        return _Failure(ExitCode.USAGE, str(error.strerror), file=str(error.filename))
    if isinstance(error, ModuleNotFoundError) and not _is_our_module(error):
        what = f"the package '{error.name}' is not installed"
        remedy = "Install it: 'solbench doctor' says how."
        return _Failure(ExitCode.ENVIRONMENT, what, remedy=remedy)
    what = f"{type(error).__name__}: {error}"
    hint = "This is a bug in SolBench; run again with 'solbench --debug ...' for details."
    return _Failure(ExitCode.INTERNAL, what, "internal error", remedy=hint)


def _is_of_the_disk(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in _DISK_ERRORS


def _is_our_module(error: ModuleNotFoundError) -> bool:
    return (error.name or "solbench").startswith("solbench")


def _ours(error: SolBenchError) -> _Failure:
    """With the parts that the error has; of several in one pass, the first and the others."""
    several = error.errors if isinstance(error, SpecErrors) else ()
    first = several[0] if several else error
    code = exit_code(error)
    if not isinstance(first, InputError):
        return _Failure(code, str(error), text=str(error))
    return _Failure(
        code,
        first.what,
        file=first.file,
        line=first.line,
        key=first.key,
        remedy=first.remedy,
        others=several[1:],
        text=str(error),
    )


def _show(failure: _Failure, error: BaseException, debug: bool) -> None:
    if debug and not isinstance(error, KeyboardInterrupt):
        err().print("".join(traceback.format_exception(error)), markup=False, end="")
    lines = failure.message().splitlines()
    if len(lines) > _MOST_LINES and not debug:
        where = "'solbench check PATH' lists them all" if failure.others else "--debug shows them"
        more = f"… and {len(lines) - _MOST_LINES} more; {where}"
        lines = [*lines[:_MOST_LINES], more]
    err().print(Text.assemble((f"{failure.kind}: ", "bold red"), "\n".join(lines)))


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
