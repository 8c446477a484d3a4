"""Seconds that ``import solbench`` takes in a fresh interpreter, and whether it pulls torch in.

Target: at most 0.3 s, without torch.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from _record import record

PROBE = """
import sys
from time import perf_counter
start = perf_counter()
import solbench
print(perf_counter() - start, "torch" in sys.modules)
"""


def main() -> None:
    runs = []
    for _ in range(7):
        done = subprocess.run(
            [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True
        )
        seconds, torch_loaded = done.stdout.split()
        runs.append(float(seconds))
    record(
        "package-import-time",
        {
            "best_s": min(runs),
            "median_s": sorted(runs)[3],
            "torch_imported": torch_loaded == "True",
        },
    )


if __name__ == "__main__":
    main()
