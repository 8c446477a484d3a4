"""A machine without walls: evaluation goes on, and says what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

_WITHOUT_WALLS = """
import ctypes, json, os, struct
from solbench.jail.walls import _bpf, _libc, _syscalls

# This process and all that it starts: no namespaces, no Landlock, no further filters.
missing = ("unshare", "landlock_create_ruleset", "seccomp")
blocks = [_bpf.always(_syscalls.required(name), _bpf.answer(38)) for name in missing]
code = _bpf.program(_syscalls.AUDIT_ARCHITECTURE[os.uname().machine], blocks)
buffer = ctypes.create_string_buffer(16 + len(code))
head = struct.pack("=HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer) + 16)
buffer.raw = head + code
_libc.prctl(38, 1)
_libc.prctl(22, 2, ctypes.addressof(buffer))

from solbench.jail import Artifact, Command, WorkerPlan, start_zygote

with start_zygote() as zygote:
    worker = zygote.spawn(WorkerPlan(Artifact(FOLDER, "kernel.py", "run", "python", False, "t"), (), "cpu"))
    replies = [worker.wait(worker.command(each), 30) for each in (Command.LOAD, Command.SEAL)]
    walls = worker.walls()
print(json.dumps([[reply.ok for reply in replies], walls.layers, walls.sealed, walls.complete]))
"""


def test_a_machine_without_walls_still_runs_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(
        "import os\nif not os.fork():\n    os._exit(0)\nos.wait()\ndef run(x):\n    return x\n"
    )
    program = textwrap.dedent(_WITHOUT_WALLS).replace("FOLDER", repr(str(tmp_path)))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout, done.stderr
    ok, layers, sealed, complete = json.loads(done.stdout)
    assert ok == [True, True]
    missing = {name for name, why in layers.items() if why}
    assert {"namespaces", "landlock", "seccomp"} <= missing
    assert os.strerror(38) in layers["landlock"]
    assert layers["no_new_privs"] == "" and layers["descriptors"] == ""
    assert not sealed and not complete
