from __future__ import annotations

import pytest

import solbench.suite
import solbench.suite.admission
import solbench.suite.formats


@pytest.mark.parametrize(
    "module", [solbench.suite, solbench.suite.admission, solbench.suite.formats]
)
def test_everything_exported_exists(module) -> None:
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(getattr(module, name) is not None for name in module.__all__)
