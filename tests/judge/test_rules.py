"""Suggested rules: tried behind walls, compared with PyTorch, stored if they match.

The model is a scripted server on this machine; the walls are real.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import torch

from solbench.bound import function_program
from solbench.bound.rules import RULES
from solbench.bound.suggest import Suggestion, endpoint, sample_calls, suggest_rule, verdict
from solbench.errors import JailError
from solbench.judge.rules import RuleJail

OP = "aten.mm.default"
RULE = """
from collections.abc import Iterable
from solbench.bound._lifted import Lifted
from solbench.bound.rules import Call, rule


@rule("aten.mm.default")
def product(call: Call) -> Iterable[Lifted]:
    {body}
"""
GOOD = RULE.format(body='yield call.einsum("ik,kj->ij", "self", "mat2")')
PROGRAM = function_program(
    lambda a, b: a @ b, (torch.empty(16, 24, device="meta"), torch.empty(24, 40, device="meta"))
)


@pytest.fixture(autouse=True)
def _without_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("aten.mm", OP):
        monkeypatch.delitem(RULES, name, raising=False)


class Server:
    """Answers in order, and keeps the questions."""

    def __init__(self, *answers: str) -> None:
        self.questions: list[str] = []
        rest = list(answers)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler) -> None:
                asked = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
                self.questions.append(asked["messages"][0]["content"])
                message = {"role": "assistant", "content": rest.pop(0)}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                body = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted"}
                text = json.dumps({**body, "choices": [choice]}).encode()
                handler.send_response(200)
                handler.send_header("Content-Type", "application/json")
                handler.send_header("Content-Length", str(len(text)))
                handler.end_headers()
                handler.wfile.write(text)

            def log_message(handler, *arguments: object) -> None:
                return

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Server]]:
    pytest.importorskip("openai")
    monkeypatch.setenv("SOLBENCH_LLM_API_KEY", "none needed")
    servers: list[Server] = []
    yield servers
    for each in servers:
        each.server.shutdown()
        each.server.server_close()


def ask(servers: list[Server], folder: Path, *answers: str, attempts: int = 1) -> Suggestion:
    servers.append(Server(*(f"Here:\n```python\n{a}```\n" if "\n" in a else a for a in answers)))
    asked = endpoint(servers[-1].url, "scripted")
    return suggest_rule(
        OP, PROGRAM, asked.ask, RuleJail(), folder, model=asked.model, attempts=attempts
    )


def test_a_rule_that_matches_is_stored_with_where_it_comes_from(
    scripted: list[Server], tmp_path: Path
) -> None:
    found = ask(scripted, tmp_path, GOOD)
    assert found.accepted
    assert found.file is not None
    text = found.file.read_text()
    assert GOOD.strip() in text
    for part in ("model: scripted", "date: ", "prompt sha256: ", "evidence: 4 calls", "aten::mm("):
        assert part in text
    assert OP not in RULES  # stored, not loaded


HOSTILE = """
import os, pathlib
from solbench.bound.rules import rule

def attempt(action):
    try:
        action()
        return "done"
    except Exception as error:
        return type(error).__name__

MARK = {mark!r}
outcomes = [
    attempt(lambda: open(MARK, "w").write("x")),
    attempt(lambda: open({secret!r}).read()),
    attempt(lambda: os.fork()),
    attempt(lambda: os.execv("/bin/true", ["true"])),
    attempt(lambda: __import__("socket").create_connection(("127.0.0.1", 80), 1)),
    attempt(lambda: os.kill(os.getppid(), 0)),
]

@rule("aten.mm.default")
def product(call):
    raise ValueError(" ".join(outcomes))
    yield
"""


def test_text_that_gets_past_the_reader_still_meets_the_walls(tmp_path: Path) -> None:
    secret, mark = tmp_path / "secret", tmp_path / "mark"
    secret.write_text("s")
    samples = sample_calls(PROGRAM, OP)[:1]
    text = HOSTILE.format(mark=str(mark), secret=str(secret))
    told = text.replace("@rule", 'raise SystemExit(" ".join(outcomes))\n\n@rule')
    with pytest.raises(JailError) as caught:
        verdict(told, samples, RuleJail())
    assert "done" not in str(caught.value)
    assert "PermissionError" in str(caught.value)
    assert not mark.exists()


def test_a_hostile_answer_is_never_run(scripted: list[Server], tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    found = ask(scripted, tmp_path / "rules", HOSTILE.format(mark=str(mark), secret=str(mark)))
    assert not found.accepted
    assert "not allowed" in found.attempts[0]
    assert not mark.exists()
    assert not (tmp_path / "rules").exists()


FORGED = """
import json, os, sys
os.write(1, json.dumps([{{"solbench_ir": 1, "capture": "values", "values": {{}}, "nodes": [],
    "inputs": {inputs}, "outputs": []}}]).encode() + b"\\n")
os._exit(0)
"""


def test_a_forged_answer_does_not_match(tmp_path: Path) -> None:
    samples = sample_calls(PROGRAM, OP)[:1]
    found = verdict(FORGED.format(inputs="{}"), samples, RuleJail())
    assert not found.matched
    assert "other inputs or outputs" in found.reason
