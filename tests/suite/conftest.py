"""A problem file of the tests' own, and how to write variants of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from solbench.suite import ProblemSource, read_problem_file

SCALE = '''"""Twice the input, by row."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="row_scale",
    tier="L1",
    family="norm",
    models=(Model("some/model", "hidden_size 64", read="some/repository: config.json"),),
    axes={"tokens": var, "hidden": 64},
    inputs={
        "x": activation("float32[tokens, hidden]", draw.normal(std=2.0), EVERY_KIND),
        "w": weight("float32[hidden]", draw.norm_weight()),
        "factor": scalar("float32", 0.5),
    },
    outputs={"y": "float32[tokens, hidden]"},
    workloads=rows("tokens", 1, 16, 300),
    smoke=rows("tokens hidden", (3, 16), (8, 32)),
)

import torch


def run(x, w, factor):
    return x * w * factor
'''

Make = Callable[..., ProblemSource]


@pytest.fixture
def problem_file(tmp_path: Path) -> Make:
    """``problem_file(old, new, …)``: the file above with text replaced, read."""

    def make(*replacements: str) -> ProblemSource:
        text = SCALE
        for old, new in zip(replacements[::2], replacements[1::2], strict=True):
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / "row_scale.py"
        file.write_text(text, encoding="utf-8")
        return read_problem_file(file)[0]

    return make


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Tensors are small here; threads that wait for each other on a busy machine cost more than they save."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
