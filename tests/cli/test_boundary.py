"""Exceptions become one clean message and a documented exit code."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from solbench.cli import _console
from solbench.cli._app import exit_code
from solbench.cli._records import appending
from solbench.errors import (
    CaptureError,
    DeviceError,
    InputError,
    JailError,
    MissingExtra,
    SolBenchError,
    SpecError,
)
from solbench.spec import Trace, trace_line


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SpecError("bad", file="x.json"), 2),
        (InputError("bad"), 2),
        (MissingExtra("jinja2", "report"), 3),
        (JailError("no landlock"), 3),
        (DeviceError("no GPU"), 3),
        (CaptureError("cannot"), 1),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: SolBenchError, code: int) -> None:
    assert exit_code(error) == code


def test_a_missing_extra_is_told_apart_from_one_that_lacks_something_itself() -> None:
    lacking = ModuleNotFoundError("No module named 'annotated_doc'", name="annotated_doc")
    assert str(MissingExtra("pydantic", "serve", lacking)) == (
        "the package 'pydantic' is installed, but cannot be imported: No module named 'annotated_doc'. "
        "Install what it lacks with: pip install --upgrade 'solbench[serve]'"
    )
    absent = ModuleNotFoundError("No module named 'no_such'", name="no_such")
    assert str(MissingExtra("no-such-package", "serve", absent)) == (
        "the package 'no-such-package' is not installed. Install it with: pip install 'solbench[serve]'"
    )


@pytest.mark.parametrize("blocked", ["annotated_doc", "starlette"])
def test_a_service_whose_framework_is_there_in_part_names_what_is_missing(blocked: str) -> None:
    for package in ("fastapi", "uvicorn", blocked):
        pytest.importorskip(package)
    program = f"""
import sys
class Blocks:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
from solbench.cli import main
sys.modules.pop({blocked!r}, None)  # the command line may need it too
sys.meta_path.insert(0, Blocks())
sys.argv = ["solbench", "serve", "--port", "0"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    words = " ".join(done.stderr.split())
    assert f"'fastapi' is installed, but cannot be imported: No module named '{blocked}" in words
    assert "pip install --upgrade 'solbench[serve]'" in words


def raising(error: BaseException) -> Any:
    def call(*_: object, **__: object) -> None:
        raise error

    return call


def test_an_error_of_ours_is_a_message_without_a_traceback(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = InputError("the thing is wrong", file="a.json", key="axes.n", remedy="Mend it.")
    monkeypatch.setattr("solbench.spec.schema", raising(error))
    result = run("schema", "trace")
    assert result.exit_code == 2
    assert result.stderr == "error: a.json: axes.n: the thing is wrong. Mend it.\n"
    assert result.stdout == ""


def test_debug_shows_the_traceback(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solbench.spec.schema", raising(InputError("wrong")))
    result = run("--debug", "schema", "trace")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr


def test_a_bug_is_said_to_be_ours(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solbench.spec.schema", raising(RuntimeError("boom")))
    result = run("schema", "trace")
    assert result.exit_code == 4
    assert "internal error: RuntimeError: boom" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_cannot_be_written_is_bad_input(
    run: Any, sample_run: list[Trace], tmp_path: Path
) -> None:
    traces = tmp_path / "traces.jsonl"
    traces.write_text("".join(trace_line(trace) + "\n" for trace in sample_run))
    result = run("report", traces, "-o", "/no/such/folder/page.html")
    assert result.exit_code == 2
    assert "--html: there is no folder '/no/such/folder'. Make it" in result.stderr
    name = "n" * 300
    result = run("report", traces, "-o", name)
    assert result.exit_code == 2
    assert f"{name}: File name too long" in result.stderr.replace("\n", "")


def test_an_interrupt_is_130(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solbench.spec.schema", raising(KeyboardInterrupt()))
    assert run("schema", "trace").exit_code == 130


def test_a_message_of_many_lines_is_cut(run: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("not json\n" * 50)
    result = run("report", bad)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) < 30
    assert "40 more" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["evl"],
        ["eval"],
        ["bound"],
        ["eval", "p", "--nope"],
        ["eval", "p", "--mode", "turbo"],
        ["bound", "p", "--jobs", "0"],
        ["schema", "thing"],
    ],
)
def test_wrong_arguments_are_exit_code_2(run: Any, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["eval", "explain", "pack", "unpack", "report"])
def test_a_path_that_does_not_exist_is_named(run: Any, command: str) -> None:
    result = run(command, "no-such-path")
    assert result.exit_code == 2
    assert "no-such-path" in result.stderr.replace("\n", "")
    assert result.stdout == ""


def test_a_full_disk_is_no_bug_of_ours(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("solbench.spec.schema", raising(full))
    result = run("schema", "trace")
    assert result.exit_code == 3
    assert result.stderr == "error: cannot write: No space left on device\n"


def test_a_folder_of_problems_is_told_from_a_problem(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    result = run("explain", tmp_path)
    assert result.exit_code == 2
    assert "Name one of the problem folders in it: double." in " ".join(result.stderr.split())


def test_a_missing_package_is_no_bug_of_ours(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = ModuleNotFoundError("No module named 'torch'", name="torch")
    monkeypatch.setattr("solbench.spec.schema", raising(missing))
    result = run("schema", "trace")
    assert result.exit_code == 3
    assert "the package 'torch' is not installed" in result.stderr


def test_what_a_reference_writes_to_the_descriptor_stays_off_stdout() -> None:
    script = (
        "import os\n"
        "from solbench.cli import _console\n"
        "with _console.records_only():\n"
        "    os.write(1, b'noise\\n')\n"
        "    _console.emit({'a': 1})\n"
        "print('after')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b'{"a": 1}\nafter\n'
    assert done.stderr == b"noise\n"


@pytest.mark.parametrize("contents", ["text", b"bytes"])
def test_a_full_disk_names_the_file(
    contents: str | bytes, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(_: str) -> None:
        _console.write_file(Path("/dev/full"), contents)

    monkeypatch.setattr("solbench.spec.schema", fill)
    result = run("schema", "trace")
    assert result.exit_code == 3
    assert result.stderr == "error: /dev/full: cannot write: No space left on device\n"


def test_a_stdout_that_is_full_ends_with_a_message_and_its_exit_code() -> None:
    command = [sys.executable, "-m", "solbench", "schema", "trace"]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert ran.returncode == 3
    assert ran.stderr == "error: cannot write: No space left on device\n"


def test_a_long_message_of_one_error_is_not_called_a_list_of_them(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("solbench.spec.schema", raising(RuntimeError("\n".join("abcdefghijklmn"))))
    result = run("schema", "trace")
    assert "more; --debug shows them" in result.stderr
    assert "solbench check" not in result.stderr


def test_records_are_kept_and_told_when_a_run_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"torn": ')
    with pytest.raises(KeyboardInterrupt), appending(path) as append:
        append("{}")
        append("[]")
        raise KeyboardInterrupt
    assert path.read_text() == '{"torn": \n{}\n[]\n'
    # Without blanks: where the line is broken depends on the folder's length.
    assert "run.jsonl:2records" in "".join(capsys.readouterr().err.split())


def test_a_record_that_does_not_fit_names_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        pytest.raises(OSError, match="No space left") as raised,
        appending(Path("/dev/full")) as append,
    ):
        append("{}")
    assert raised.value.filename == "/dev/full"
    assert capsys.readouterr().err == "", "nothing was kept"


def test_a_torn_line_that_cannot_be_ended_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "run.jsonl"
    link.symlink_to("/dev/full")
    monkeypatch.setattr("solbench.cli._records._is_torn", lambda path: True)
    monkeypatch.setattr(Path, "is_file", lambda path: True)
    with pytest.raises(OSError, match="No space left") as raised, appending(link):
        pass
    assert raised.value.filename == str(link)


def test_a_disk_that_is_full_behind_an_error_of_ours_is_the_machines_fault() -> None:
    error = SpecError("cannot be written: No space left on device", file="x.json")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert exit_code(error) == 3


def test_a_narrow_terminal_gets_every_column(
    run: Any, sample_run: list[Trace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = tmp_path / "traces.jsonl"
    traces.write_text("".join(trace_line(trace) + "\n" for trace in sample_run))
    wide = run("report", traces).stdout
    monkeypatch.setenv("COLUMNS", "30")
    assert run("report", traces).stdout == wide


def _subprocess(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **environment}, capture_output=True,
        timeout=60,
    )  # fmt: skip


def test_a_terminal_that_knows_ascii_only_gets_question_marks_and_no_error() -> None:
    ran = _subprocess("-m", "solbench", "hardware", "list", PYTHONIOENCODING="ascii")
    assert ran.returncode == 0, ran.stderr
    assert b"a100_40" in ran.stdout
    assert b"?" in ran.stdout, "the dash of what a device lacks"


def test_an_interrupt_while_the_commands_are_imported_is_told_like_any_other() -> None:
    script = (
        "import sys\n"
        "from solbench.__main__ import main\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'solbench.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "main()\n"
    )
    ran = _subprocess("-c", script)
    assert (ran.returncode, ran.stderr) == (130, b"interrupted: stopped by the user\n")
