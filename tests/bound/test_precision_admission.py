"""Lower precision admitted by test, on a product whose rounding errors are worked out by hand.

y = x @ w over 1,024 standard normal pairs: outputs have a standard deviation of 32, and a relative error of e
(root mean square) in every operand gives an error of sqrt(2) · e · 32. 99 % of a normal error lie within 2.58
of its deviations. With e about 1e-4 (11 bits), 8e-4 (8 bits), 6.3e-3 (127 steps up to 2.8, the largest of 128),
2.6e-2 (4 bits) and 9e-2 (E2M1 with block scales), the tolerances at which each passes are 0.012, 0.1, 0.74, 3
and 11.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from solbench.bound import Bound, derive_bound
from solbench.bound._precision_cache import known
from solbench.bound._precision_formats import round_to
from solbench.bound._precision_gates import gate_of
from solbench.bound._precision_trials import SEEDS
from solbench.bound._precision_ways import Halved, small_programs
from solbench.bound._price import faster_kinds
from solbench.hardware import load_hardware
from solbench.spec import Definition, OwnRecord, Problem, Tolerance, Workload, make_problem

PRODUCT = "def run(x, y):\n    return x @ y\n"
FLOPS = 2 * 1024 * 4096**2


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOLBENCH_CACHE_DIR", str(tmp_path))
    known.cache_clear()


def problem(
    atol: float = 1e-2,
    *,
    reference: str = PRODUCT,
    dtype: str = "float32",
    own: OwnRecord | None = None,
    rows: int = 4096,
) -> Problem:
    definition = Definition.model_validate(
        {
            "name": "product",
            "axes": {
                "m": {"type": "var"},
                "k": {"type": "const", "value": 1024},
                "n": {"type": "const", "value": 4096},
            },
            "inputs": {
                "x": {"shape": ["m", "k"], "dtype": dtype},
                "y": {"shape": ["k", "n"], "dtype": dtype},
            },
            "outputs": {"z": {"shape": ["m", "n"], "dtype": dtype}},
            "reference": reference,
            "solbench": own,
        }
    )
    tolerance = Tolerance(max_atol=atol, max_rtol=0.0)
    return make_problem(definition, [Workload(uuid="w", axes={"m": rows}, tolerance=tolerance)])


def bound_of(given: Problem, hardware: str = "h200", **options: str) -> Bound:
    (bound,) = derive_bound(given, hardware, **options)  # type: ignore[arg-type]
    return bound


def kinds(bound: Bound) -> list[str]:
    assert bound.admission is not None
    return [place.admitted for place in bound.admission.places]


@pytest.mark.parametrize(
    ("atol", "hardware", "kind"),
    [
        (0.03, "h200", "fp16"),
        (0.4, "h200", "fp16"),
        (2.0, "h200", "int8"),
        (6.0, "b300", "fp8"),
        (20.0, "b200", "nvfp4"),
        (20.0, "h200", "int8"),  # it has no fp4
        (20.0, "a100_80", "int8"),  # nor has this, and no fp8
    ],
)
def test_the_fastest_class_within_the_tolerance_is_admitted(
    atol: float, hardware: str, kind: str
) -> None:
    bound = bound_of(problem(atol), hardware)
    assert kinds(bound) == [kind]
    assert bound.precision == ("declared" if kind == "fp32" else "admitted")
    assert bound.matrix_flops == {"fp32": FLOPS}  # what the program declares


def test_an_admitted_product_is_priced_at_its_class() -> None:
    bound = bound_of(problem(0.06))
    # 4096 FLOP per SM and clock on the tensor cores and 256 beside them, 132 SMs at 1.98 GHz
    assert bound.t_sol_ms == pytest.approx(FLOPS / (4352 * 132 * 1.98e9) * 1e3)
    assert any("fp32 as fp16" in text for text in bound.assumptions)


def test_a_part_of_a_product_is_priced_at_a_class_that_all_of_it_may_not_have() -> None:
    bound = bound_of(problem(0.4))
    assert bound.admission is not None
    (place,) = bound.admission.places
    # int8 for all of it gives 0.74, and errors grow with the root of the share
    assert (place.admitted, place.part) == ("fp16", "int8")
    assert place.part_share == pytest.approx((0.4 / 0.74) ** 2, rel=0.25)
    # 4096 FLOP per SM and clock in fp16, 8192 in int8, and 256 beside them for whichever
    share = place.part_share
    rate = 132 * 1.98e9
    tensor = FLOPS * (share / 8192 + (1 - share) / 4096) / rate
    together = FLOPS * (share / 8448 + (1 - share) / 4352) / rate
    assert tensor > bound.t_sol_ms / 1e3 > 0.98 * together
    assert any(f"{share:.0%} of fp32 as int8 and fp32 as fp16" in t for t in bound.assumptions)


def test_the_share_is_what_a_kernel_can_lower_that_splits_the_sum() -> None:
    bound = bound_of(problem(0.4))
    assert bound.admission is not None
    share = bound.admission.places[0].part_share
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(256, 1024, dtype=torch.float64, generator=generator)
    y = torch.randn(1024, 256, dtype=torch.float64, generator=generator)

    def matched(part: float) -> float:
        cut = int(part * 1024)
        low = round_to("int8", x, (-1,))[:, :cut] @ round_to("int8", y, (-2,))[:cut]
        error = low + x[:, cut:] @ y[cut:] - x @ y
        return float((error.abs() <= 0.4).double().mean())

    assert matched(0.9 * share) >= 0.99 > matched(1.2 * share)


def test_a_refused_class_leaves_the_bound_as_declared() -> None:
    tight, declared = bound_of(problem(1e-4)), bound_of(problem(1e-4), precision="declared")
    assert tight.t_sol_ms == declared.t_sol_ms
    # three passes of fp16: 4096 / 3, and 256 beside them
    assert declared.t_sol_ms == pytest.approx(FLOPS / ((4096 / 3 + 256) * 132 * 1.98e9) * 1e3)
    assert declared.admission is None
    assert tight.admission is not None
    assert all(not t.passed for place in tight.admission.places for t in place.trials)


def test_the_evidence_says_how_far_from_the_tolerance_each_class_was() -> None:
    admission = bound_of(problem(0.4)).admission
    assert admission is not None
    assert (admission.status, admission.gate) == ("admitted", "official")
    assert admission.axes is not None
    assert admission.axes["k"] == 1024  # the summed length stays
    errors = {t.kind: t.error_over_tolerance for t in admission.places[0].trials}
    assert errors["int8"] == pytest.approx(0.74 / 0.4, rel=0.2)
    assert errors["fp8"] == pytest.approx(3.0 / 0.4, rel=0.25)
    assert errors["fp16"] < 0.1


def test_an_error_budget_refuses_sixteen_bits_for_float32() -> None:
    bound = bound_of(problem(own=OwnRecord(tier="L1", direction="forward")))
    assert bound.admission is not None
    assert bound.admission.gate == "budget"
    assert kinds(bound) == ["fp32"]


def test_an_error_budget_refuses_eight_bits_for_bfloat16() -> None:
    own = OwnRecord(tier="L1", direction="forward")
    bound = bound_of(problem(dtype="bfloat16", own=own))
    assert kinds(bound) == ["bf16"]


def test_a_wide_error_budget_admits_eight_bits() -> None:
    own = OwnRecord.model_validate(
        {
            "tier": "L1",
            "direction": "forward",
            "gate": {"rms_multiplier": 100.0, "max_multiplier": 100.0},
        }
    )
    assert kinds(bound_of(problem(dtype="bfloat16", own=own))) == ["int8"]


def test_nothing_is_tried_where_memory_binds() -> None:
    bound = bound_of(problem(rows=16))
    assert bound.binding == "dram"
    assert bound.admission is not None
    assert bound.admission.status == "not_needed"


WRITTEN_OUT = "def run(x, y):\n    return (x[:, None, :] * y.T[None]).sum(-1)\n"
FIXED = "def run(x, y):\n    assert x.shape[0] == 4096\n    return x @ y\n"
ATTENTION = """
import torch.nn.functional as F
def run(x, y):
    query, key = x[None, None], y.T[None, None]
    return F.scaled_dot_product_attention(query, key, key)[0, 0] @ y
"""
WITH_BIAS = "import torch\ndef run(x, y):\n    return torch.addmm(y[0], x, y)\n"
TWO = "def run(x, y):\n    first = x @ y\n    return first + x.flip(0) @ y.flip(1)\n"


def test_a_product_written_as_multiply_and_sum_is_rounded_where_it_is_multiplied() -> None:
    assert kinds(bound_of(problem(0.4, reference=WRITTEN_OUT))) == ["fp16"]


def test_every_draw_has_other_numbers() -> None:
    given = problem(0.4)
    workload = given.workloads[0]
    trials = Halved(given, workload, ()).prepare(gate_of(given, workload))
    first, second, third = (trials.draw(seed).inputs["x"] for seed in SEEDS)
    assert not torch.equal(first, second)
    assert not torch.equal(second, third)


def test_attention_that_is_kept_whole_is_tried_with_its_weights_rounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = problem(0.4, reference=ATTENTION)
    workload = given.workloads[0]
    trials = Halved(given, workload, ()).prepare(gate_of(given, workload))
    (call,) = (p for p, node in enumerate(trials.graph.nodes) if "attention" in node.op)
    whole = trials.run({call: "int8"}, "int8").error_over_tolerance
    monkeypatch.setattr("solbench.bound._precision_trials.ATTENTION_OPS", ())
    operands_only = trials.run({call: "int8"}, "int8").error_over_tolerance
    assert whole > operands_only > 0


def test_vector_work_of_the_same_call_is_not_priced_as_a_product() -> None:
    bound = bound_of(problem(0.06, reference=WITH_BIAS))
    assert bound.error is None
    assert kinds(bound) == ["fp16"]
    assert {t.resource for t in bound.terms if t.resource.startswith("matrix.")} == {"matrix.fp16"}


def test_a_problem_that_is_too_large_at_any_size_is_replayed_at_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("solbench.bound._precision_instance.LARGEST_ELEMENTS", 3)
    monkeypatch.setattr("solbench.bound._precision_ways.LARGEST_ELEMENTS", 3)
    given = problem(0.06)
    assert list(small_programs(given, given.workloads[0])) == []


def test_a_reference_that_takes_no_other_size_is_undecided() -> None:
    bound = bound_of(problem(reference=FIXED))
    assert bound.admission is not None
    assert bound.admission.status == "undecided"
    assert (bound.precision, bound.complete) == ("declared", True)
    assert any("undecided" in text for text in bound.assumptions)


def test_whoever_asks_for_admitted_precision_gets_no_bound_that_is_undecided() -> None:
    bound = bound_of(problem(reference=FIXED), precision="admitted")
    assert bound.t_sol_ms is None
    assert bound.error is not None
    assert "AssertionError" in bound.error


def test_each_product_is_tried_alone_where_not_all_pass_together() -> None:
    # 127 steps alone give 0.74 for either product, and sqrt(2) times that for their sum
    bound = bound_of(problem(0.9, reference=TWO))
    assert bound.admission is not None
    assert kinds(bound) == ["int8", "int8"]
    assert bound.admission.together is False


def test_a_second_derivation_takes_the_evidence_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = bound_of(problem(0.4))
    known.cache_clear()
    (file,) = (tmp_path / "precision").iterdir()
    text = file.read_text()
    monkeypatch.setattr("solbench.bound._precision_ways.capture", None)
    again = bound_of(problem(0.4))
    assert again.admission == first.admission
    assert file.read_text() == text


def test_a_chip_offers_only_formats_that_it_has() -> None:
    assert faster_kinds("bf16", load_hardware("a100_80")).keys() == {"int8"}
    assert set(faster_kinds("bf16", load_hardware("h200"))) == {"int8", "fp8"}
    assert next(iter(faster_kinds("bf16", load_hardware("b200")))) == "nvfp4"
    assert "fp8" not in faster_kinds("fp32", load_hardware("a100_80"))
    assert faster_kinds("nvfp4", load_hardware("b200")) == {}
