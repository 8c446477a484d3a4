"""Work that goes on when the call has returned."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from solbench.judge.guard._python import PythonFile, names_in, root_name
from solbench.judge.guard._registry import Hit, python_rule

_THREADS = frozenset({"threading.Thread", "_thread.start_new_thread"})
_SLEEPS = frozenset({"time.sleep", "sleep"})
_STREAMS = frozenset({"torch.cuda.Stream", "torch.cuda.ExternalStream", "torch.Stream"})
_JOINS = frozenset({"wait_stream", "wait_event"})


@python_rule("thread_unjoined")
def thread_unjoined(file: PythonFile) -> Iterator[Hit]:
    """A thread is started in the call and nothing waits for it, or one keeps computing beside it."""
    entry = {id(node) for node in ast.walk(file.entry)} if file.entry is not None else set()
    joins = any(isinstance(call.func, ast.Attribute) and call.func.attr == "join" and not call.args
                for call, _ in file.calls)  # fmt: skip
    for call, name in file.calls:
        if name not in _THREADS:
            continue
        if id(call) in entry and not joins:
            yield call.lineno, "a thread is started in the call and never joined"
        elif body := _endless(file, call):
            yield call.lineno, f"'{body}' never ends and does more than sleep"


def _endless(file: PythonFile, thread: ast.Call) -> str:
    """Name of the thread's function if it loops for ever around more than sleeping."""
    target = next((each.value for each in thread.keywords if each.arg == "target"), None)
    if not isinstance(target, ast.Name):
        return ""
    for function in file.functions():
        if function.name != target.id:
            continue
        for loop in ast.walk(function):
            if isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant):
                calls = {
                    file.name(each.func) for each in ast.walk(loop) if isinstance(each, ast.Call)
                }
                stores = any(isinstance(each, ast.Assign) for each in ast.walk(loop))
                if calls - _SLEEPS or stores:
                    return function.name
    return ""


@python_rule("fork_unjoined")
def fork_unjoined(file: PythonFile) -> Iterator[Hit]:
    """torch.jit.fork without a wait."""
    waits = any(name == "torch.jit.wait" for _, name in file.calls)
    for call, name in file.calls:
        if name in ("torch.jit.fork", "torch.jit._fork") and not waits:
            yield call.lineno, "a task is forked and nothing waits for it"


@python_rule("stream_unjoined")
def stream_unjoined(file: PythonFile) -> Iterator[Hit]:
    """Work is put on a stream of its own, and the caller's stream never waits for it."""
    sides = _side_streams(file)
    if not sides or _joined(file, sides):
        return
    for call, name in file.calls:
        if name == "torch.cuda.stream" and call.args and root_name(call.args[0]) in sides:
            yield call.lineno, "the caller's stream never waits for this one"


def _side_streams(file: PythonFile) -> frozenset[str]:
    """Names that may hold a stream that the solution made."""
    made = [node for node in file.nodes if isinstance(node, ast.Assign | ast.For)]
    sides: set[str] = set()
    for _ in range(3):  # from a list to a loop's variable to another name
        for node in made:
            value = node.value if isinstance(node, ast.Assign) else node.iter
            makes = any(
                isinstance(each, ast.Call) and file.name(each.func) in _STREAMS
                for each in ast.walk(value)
            )
            if makes or names_in(value) & sides:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    sides |= names_in(target)
    return frozenset(sides)


def _joined(file: PythonFile, sides: frozenset[str]) -> bool:
    for call, _ in file.calls:
        if not isinstance(call.func, ast.Attribute):
            continue
        method = call.func.attr
        if method in _JOINS and root_name(call.func.value) not in sides:
            return True
        if method == "synchronize" or (method == "wait" and not call.args):
            return True
    return False
