"""The example of docs/library.md prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.xdist_group("judge")


def test_the_example_prints_what_the_page_says() -> None:
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```.*?```\n(.*?)```", page, re.DOTALL)
    assert found is not None
    ran = subprocess.run(
        [sys.executable, "-c", found[1]], cwd=ROOT, capture_output=True, text=True, timeout=110
    )
    assert ran.stdout == found[2], ran.stderr
