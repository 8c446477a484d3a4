"""What the processes of the jail load before they do anything."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.jail.conftest import Spawn


@pytest.mark.parametrize("module", ["torch", "pydantic", "solbench.spec"])
def test_a_compiler_starts_without(module: str) -> None:
    """Each takes longer to import than a small program takes to compile."""
    program = f"import sys, solbench.jail.compiler; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_worker_collects_garbage_though_its_zygote_does_not_while_it_imports(
    spawn: Spawn,
) -> None:
    source = """
    import gc
    def run(x):
        return x + gc.isenabled()
    """
    jailed = spawn(source)
    assert jailed.seal().ok
    jailed.input("x").fill_(2.0)
    assert jailed.run().ok
    assert jailed.output().tolist() == [3.0] * 8
