"""Small instances of problems: which axes shrink, and how far."""

from __future__ import annotations

from math import prod

import pytest

from solbench.bound._precision_instance import LARGEST_ELEMENTS, CannotShrink, instances
from solbench.spec import Definition, Problem, ScalarInput, Workload, make_problem


def problem(
    axes: dict[str, int | None], inputs: dict[str, list[str]], outputs: list[str], **sizes: int
) -> Problem:
    """``None`` is a ``var`` axis."""
    definition = Definition.model_validate(
        {
            "name": "made",
            "axes": {
                name: {"type": "var"} if size is None else {"type": "const", "value": size}
                for name, size in axes.items()
            },
            "inputs": {n: {"shape": s, "dtype": "float32"} for n, s in inputs.items()}
            | {"m": {"shape": None, "dtype": "int32"}},
            "outputs": {"y": {"shape": outputs, "dtype": "float32"}},
            "reference": "def run(*inputs):\n    return inputs[0]\n",
        }
    )
    scalar = {"m": ScalarInput(type="scalar", value=sizes.get("m", 1))}
    return make_problem(definition, [Workload(uuid="w", axes=sizes, inputs=scalar)])


def first(given: Problem) -> dict[str, int]:
    return next(instances(given, given.workloads[0])).axes


def test_rows_shrink_first_then_columns_and_the_summed_length_stays() -> None:
    product = problem(
        {"m": None, "k": 2048, "n": 8192}, {"x": ["m", "k"], "w": ["k", "n"]}, ["m", "n"], m=5000
    )
    assert first(product) == {"m": 128, "k": 2048, "n": 64}


def test_what_fits_is_left_as_it_is() -> None:
    small = problem({"m": None, "k": 64}, {"x": ["m", "k"]}, ["m", "k"], m=100)
    assert first(small) == {"m": 100, "k": 64}


def test_workloads_of_many_lengths_shrink_to_one() -> None:
    def at(rows: int) -> dict[str, int]:
        return first(problem({"m": None, "k": 8192}, {"x": ["m", "k"]}, ["m", "k"], m=rows))

    assert at(1500) == at(4096) == at(5001)


def test_a_scalar_that_stands_for_an_axis_follows_it() -> None:
    given = problem({"m": None, "k": 8192}, {"x": ["m", "k"]}, ["m", "k"], m=4096)
    made = next(instances(given, given.workloads[0]))
    scalar = made.workload.inputs["m"]
    assert isinstance(scalar, ScalarInput)
    assert scalar.value == made.axes["m"] < 4096


def test_a_width_follows_the_heads_that_it_is_a_product_of() -> None:
    block = problem(
        {"t": None, "heads": 32, "kv": 8, "size": 128, "width": 4096},
        {"x": ["t", "width"], "w": ["width", "width"], "c": ["t", "heads", "size"]},
        ["t", "width"],
        t=4096,
    )
    axes = first(block)
    assert axes["width"] == axes["heads"] * axes["size"] < 4096
    assert axes["heads"] % axes["kv"] == 0


def test_every_instance_fits_and_is_smaller_than_the_one_before() -> None:
    given = problem(
        {"b": None, "s": None, "h": 16, "d": 64},
        {"q": ["b", "h", "s", "d"]}, ["b", "h", "s", "d"], b=64, s=4096,
    )  # fmt: skip
    sizes = [prod(each.axes.values()) for each in instances(given, given.workloads[0])]
    assert all(2 * size <= LARGEST_ELEMENTS for size in sizes)
    assert sizes == sorted(sizes, reverse=True)
    assert first(given)["b"] == 1  # a batch only repeats the work


def test_a_problem_that_is_too_large_at_any_size_says_so() -> None:
    odd = problem({"m": None, "k": 1048577}, {"x": ["m", "k"]}, ["m", "k"], m=16)
    with pytest.raises(CannotShrink):
        next(instances(odd, odd.workloads[0]))
