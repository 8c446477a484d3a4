"""Small instances of programs that fix some of their sizes: found by trying which axes may shrink."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path

import pytest

from solbench import suite
from solbench.bound import derive_bound
from solbench.bound._precision_cache import known
from solbench.bound._precision_instance import CannotShrink, Instance
from solbench.bound._precision_search import searched, start_of, steps
from solbench.spec import Definition, Problem, Workload, make_problem


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOLBENCH_CACHE_DIR", str(tmp_path))
    known.cache_clear()


def problem(
    axes: dict[str, int | None], *inputs: list[str], constraints: tuple[str, ...] = (), **sizes: int
) -> Problem:
    """``None`` is a ``var`` axis; the output is shaped as the first input."""
    definition = Definition.model_validate(
        {
            "name": "made",
            "axes": {
                name: {"type": "var"} if size is None else {"type": "const", "value": size}
                for name, size in axes.items()
            },
            "constraints": list(constraints),
            "inputs": {f"x{i}": {"shape": s, "dtype": "float32"} for i, s in enumerate(inputs)},
            "outputs": {"y": {"shape": inputs[0], "dtype": "float32"}},
            "reference": "def run(*inputs):\n    return inputs[0]\n",
        }
    )
    return make_problem(definition, [Workload(uuid="w", axes=sizes)])


def runs_if(condition: Callable[[dict[str, int]], bool]) -> Callable[[Instance], float]:
    """A program that only takes some sizes; small enough with 4,096 elements of the product of all axes."""

    def excess(instance: Instance) -> float:
        if not condition(instance.axes):
            raise CannotShrink("it does not run")
        return max(1.0, prod(instance.axes.values()) / 4096)

    return excess


def found(given: Problem, condition: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    return searched(given, given.workloads[0], runs_if(condition)).axes


def test_workloads_of_many_lengths_begin_alike() -> None:
    def at(rows: int) -> dict[str, int]:
        given = problem({"m": None, "k": 1000}, ["m", "k"], m=rows)
        return start_of(given, given.workloads[0]).axes

    assert at(300) == at(4096) == {"m": 128, "k": 1000}


def test_an_image_begins_with_few_rows_that_keep_its_constraints() -> None:
    given = problem(
        {"n": None, "h": None, "w": None, "k": 64}, ["n", "h", "w", "k"],
        constraints=("h % 14 == 0", "w % 14 == 0"), n=5, h=70, w=56,
    )  # fmt: skip
    axes = start_of(given, given.workloads[0]).axes
    assert (axes["h"] % 14, axes["w"] % 14) == (0, 0)
    assert axes["n"] == 1
    assert axes["h"] * axes["w"] <= 256


def test_an_axis_that_the_program_fixes_stays() -> None:
    given = problem({"m": None, "n": 1024, "size": 64}, ["m", "n", "size"], m=64)
    axes = found(given, lambda sizes: sizes["size"] == 64)
    assert axes["size"] == 64
    assert axes["n"] < 1024


def test_a_width_and_its_heads_shrink_together_where_only_that_runs() -> None:
    given = problem({"m": None, "width": 2560, "heads": 20}, ["m", "width"], ["heads"], m=64)
    axes = found(given, lambda sizes: sizes["width"] == 128 * sizes["heads"])
    assert axes["width"] == 128 * axes["heads"] <= 640


def test_an_odd_number_of_heads_is_divided_by_what_divides_it() -> None:
    given = problem({"m": None, "heads": 75, "size": 64}, ["m", "heads", "size"], m=16)
    axes = found(given, lambda sizes: sizes["size"] == 64)
    assert axes["heads"] in (25, 5)  # 75 = 3 · 5 · 5


def test_a_step_that_hardly_pays_gives_way_to_one_that_does() -> None:
    # the program's own intermediates grow with the square of the rows, which inputs do not show
    given = problem({"m": None, "n": 4096}, ["m", "n"], m=128)

    def excess(instance: Instance) -> float:
        return instance.axes["m"] ** 2 / 1024 + instance.axes["n"] / 65536

    assert searched(given, given.workloads[0], excess).axes == {"m": 16, "n": 4096}


def test_a_table_is_not_shortened() -> None:
    given = problem({"m": None, "n": 4096, "entries": 32}, ["m", "n"], ["entries"], m=64)
    axes = start_of(given, given.workloads[0]).axes
    assert all("entries" not in step.axes[:1] for step in steps(given, given.workloads[0], axes))


def test_what_runs_at_one_size_only_is_refused_with_the_reason() -> None:
    given = problem({"m": None, "n": 4096}, ["m", "n"], m=64)
    with pytest.raises(CannotShrink, match="does not run"):
        found(given, lambda sizes: sizes["n"] == 4096 and sizes["m"] == 64)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("attention_block_multimodal_fp32_h2048", {"head_dim": 128}),  # three bands of 64 pairs
        ("linear_attention_block_bf16_h2240", {}),  # 70 heads of 32
        ("vision_window_decomposed_fp32_h1280_w14", {"window": 14}),
    ],
)
def test_problems_whose_references_fix_a_size_are_decided(name: str, kept: dict[str, int]) -> None:
    given = suite.load(name)
    (bound,) = derive_bound(given, "h200", workload=given.workloads[5].uuid)
    assert bound.admission is not None
    assert bound.admission.status in ("admitted", "declared"), bound.admission.reason
    assert bound.admission.axes is not None
    assert kept.items() <= bound.admission.axes.items()
