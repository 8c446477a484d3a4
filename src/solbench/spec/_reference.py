"""Running the source of a reference as a module whose lines show in tracebacks."""

from __future__ import annotations

import hashlib
import linecache
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from solbench.errors import ReferenceFailed
from solbench.spec._document import read_text
from solbench.spec._problem import Problem
from solbench.spec._problem_files import REFERENCE_FILE

if TYPE_CHECKING:
    from solbench.spec._containment import TorchState


def load_reference(problem: Problem) -> Callable[..., Any]:
    """The reference's ``run``; ``ReferenceFailed`` if its module cannot be executed.

    What its module sets in torch for the whole process (a default dtype or device, no gradients)
    holds during its own calls only.
    """
    return _function(problem, "run")


def load_entrypoint(problem: Problem) -> Callable[..., Any] | None:
    """The function that makes custom inputs, ``fn(axes_and_scalars, device) -> dict``, if one is named."""
    name = problem.definition.custom_inputs_entrypoint
    return None if name is None else _function(problem, name)


def reference_file(problem: Problem) -> str:
    """File name under which the reference's lines are known to tracebacks and to ``inspect``.

    ``reference.py`` itself where it holds the same text, else a readable name in angle brackets.
    """
    if problem.folder is not None:
        beside = problem.folder / REFERENCE_FILE
        if beside.is_file() and read_text(beside) == problem.definition.reference:
            return str(beside.resolve())
    return f"<reference of {problem.name} {_short_digest(problem)}>"


def _short_digest(problem: Problem) -> str:
    return hashlib.sha256(problem.definition.reference.encode()).hexdigest()[:8]


def _function(problem: Problem, name: str) -> Callable[..., Any]:
    module = _module(problem)
    function = getattr(module, name, None)
    if not callable(function):
        raise ReferenceFailed(f"the reference of {problem.name} defines no function '{name}'")
    found: Callable[..., Any] = function
    if module.__name__ not in _states:
        return found
    from solbench.spec._containment import under_state

    return under_state(found, _states[module.__name__])


_loading = threading.RLock()
_states: dict[str, TorchState] = {}
"""Name of a reference's module → the process-wide settings that it made, if it made any."""


def _module(problem: Problem) -> ModuleType:
    """Execute the reference once per source and file, as an import would."""
    with _loading:  # another thread must not see a module that is half executed
        return _loaded_module(problem)


def _loaded_module(problem: Problem) -> ModuleType:
    file = reference_file(problem)
    place = hashlib.sha256(file.encode()).hexdigest()[:8]
    name = f"solbench_reference_{_short_digest(problem)}_{place}"
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module  # dataclasses and pickle look the module up while it is executed
    try:
        _execute_contained(module, file, problem.definition.reference)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, (Exception, SystemExit)):
            line = line_in(error, file)
            raise ReferenceFailed(
                f"the reference of {problem.name} cannot be loaded: {describe(error)}{line}"
            ) from error
        raise
    return module


def _execute_contained(module: ModuleType, file: str, source: str) -> None:
    from solbench.spec._containment import TorchState, contained

    with contained():
        before = TorchState.current()
        _execute(module, file, source)
        after = TorchState.current()
    if after != before:
        _states[module.__name__] = after


def _execute(module: ModuleType, file: str, source: str) -> None:
    lines = source.splitlines(keepends=True)
    if not Path(file).is_file():
        # A modification time of None keeps linecache.checkcache from dropping the entry.
        linecache.cache[file] = (len(source), None, lines, file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        code = compile(source, file, "exec", dont_inherit=True)
    exec(code, module.__dict__)


_WITHOUT_GPU = ("not compiled with CUDA", "Found no NVIDIA driver", "No CUDA GPUs are available")
"""What torch says of ``device="cuda"`` where there is none."""


def reference_failure(problem: Problem, error: BaseException) -> ReferenceFailed:
    """The exception that says what a call of ``run`` raised, and in which line."""
    line = line_in(error, reference_file(problem))
    what = f"the reference of {problem.name} failed: {describe(error)}{line}"
    needs_gpu = any(words in what for words in _WITHOUT_GPU)
    return ReferenceFailed(f"{what}. It needs a GPU: use device cuda:0" if needs_gpu else what)


def describe(error: BaseException) -> str:
    """Type and message of an exception on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_in(error: BaseException, file: str) -> str:
    """`` (line 3: x = y)`` for the innermost line of ``file`` on the way to ``error``, else empty."""
    number = None
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == file:
            number = frame.tb_lineno
        frame = frame.tb_next
    if number is None:
        return ""
    return f" (line {number}: {linecache.getline(file, number).strip()})"
