"""``solbench explain``: pages, plots, curves and comparisons from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

MODULE = """
import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.rand(64, 32), torch.rand(32, 16)]
"""


@pytest.fixture
def product(tmp_path: Path) -> Path:
    file = tmp_path / "product.py"
    file.write_text(MODULE)
    return file


def test_the_cache_is_shown_and_drawn(run: Any, product: Path, tmp_path: Path) -> None:
    picture = tmp_path / "curve.png"
    result = run("explain", product, "--hardware", "h200", "--cache", "--cache-plot", picture)
    assert result.exit_code == 0
    assert "held in" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_cache_is_in_the_record(run: Any, product: Path) -> None:
    result = run("explain", product, "--hardware", "h200", "--cache", "--json")
    record = json.loads(result.stdout)
    assert record["cache"]["levels"][0]["name"] == "dram"
    # fp32: (64·32 + 32·16 + 64·16) · 4 bytes, also at least so much of every schedule
    assert record["cache"]["levels"][0]["traffic_bytes"] == 4 * (2048 + 512 + 1024)
    assert record["confidence"]["level"] == "medium"
    assert all("detail" in term for term in record["terms"])


def test_the_page_is_written(run: Any, product: Path, tmp_path: Path) -> None:
    page = tmp_path / "bound.html"
    assert run("explain", product, "--hardware", "h200", "--html", page).exit_code == 0
    assert "product.py" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("option", "name"), [("--plot", "a.pdf"), ("--cache-plot", "a.jpg"), ("--html", "a.txt")]
)
def test_a_file_of_an_unknown_kind_is_refused_before_any_work(
    run: Any, product: Path, option: str, name: str
) -> None:
    result = run("explain", product, "--hardware", "h200", option, name)
    assert result.exit_code == 2
    assert option in result.stderr


def test_two_devices_are_compared(run: Any, product: Path) -> None:
    result = run("explain", product, "--hardware", "h200", "--compare", "b200")
    assert result.exit_code == 0
    for part in ("T_SOL", "h200", "b200", "0.600×"):  # 4.8 of 8 TB/s
        assert part in result.stdout


def test_two_workloads_are_compared_as_json(run: Any, problem_folder: Path) -> None:
    result = run(
        "explain", problem_folder, "--workload", "aaaa1", "--hardware", "h200",
        "--compare", "aaaa2", "--json",
    )  # fmt: skip
    record = json.loads(result.stdout)
    rows = {row["what"]: row for row in record["differences"]}
    assert rows["read"]["ratio"] == 4.0  # 256 and 1024 elements
    assert record["second"].endswith("000000000002")


def test_saved_bounds_are_compared_with_each_other_and_with_programs(
    run: Any, product: Path, tmp_path: Path
) -> None:
    files = []
    for name in ("h200", "a100_80"):
        saved = tmp_path / f"{name}.json"
        saved.write_text(run("explain", product, "--hardware", name, "--json").stdout)
        files.append(saved)
    result = run("explain", files[0], "--compare", files[1])
    assert result.exit_code == 0
    assert "hardware" in result.stdout
    assert "equal" in run("explain", product, "--hardware", "h200", "--compare", files[0]).stdout
    assert run("explain", files[0]).exit_code == 2


def test_what_cannot_be_compared_is_refused(run: Any, product: Path, tmp_path: Path) -> None:
    result = run("explain", product, "--hardware", "h200", "--compare", "nowhere")
    assert result.exit_code == 2
    assert "h200" in result.stderr
    empty = tmp_path / "empty.json"
    empty.write_text("{}")
    result = run("explain", product, "--hardware", "h200", "--compare", empty)
    assert "holds no bound" in " ".join(result.stderr.split())


def test_what_is_nothing_to_compare_with_is_not_called_a_wrong_workload(
    run: Any, problem_folder: Path
) -> None:
    result = run("explain", problem_folder, "--hardware", "h200", "--compare", "b201")
    assert result.exit_code == 2
    told = " ".join(result.stderr.split())
    assert "--compare: 'b201' is no path, no hardware, and no workload of this problem" in told
    assert "b200" in told
