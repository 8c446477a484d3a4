import math

import pytest
import torch

from solbench.gate import (
    CHUNK_ELEMENTS,
    ErrorBudget,
    OutputError,
    budget_gate,
    measure_error,
    official_gate,
    official_gate_all,
    reference_gate,
    reference_gate_calls,
)
from solbench.gate._together import _judge_together
from solbench.spec._workload import Tolerance

LOOSE = Tolerance()
STRICT = Tolerance(max_atol=0.0, max_rtol=0.0, required_matched_ratio=1.0)


def vector(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def test_an_element_on_the_edge_of_the_tolerance_matches():
    tolerance = Tolerance(max_atol=0.5, max_rtol=0.25, required_matched_ratio=1.0)
    # |2.5 - 4| = 1.5 = 0.5 + 0.25 * 4, all exact in binary
    assert official_gate(vector(2.5), vector(4.0), tolerance).passed
    assert not official_gate(vector(2.25), vector(4.0), tolerance).passed


def test_relative_tolerance_is_of_the_reference_not_of_the_output():
    tolerance = Tolerance(max_atol=0.0, max_rtol=0.5, required_matched_ratio=1.0)
    assert not official_gate(vector(2.0), vector(1.0), tolerance).passed
    assert official_gate(vector(1.0), vector(2.0), tolerance).passed


@pytest.mark.parametrize(("off", "passes"), [(1, True), (2, False)])
def test_the_matched_share_decides(off, passes):
    reference = torch.ones(100)
    output = reference.clone()
    output[:off] = 2.0
    result = official_gate(output, reference, LOOSE)
    assert result.passed is passes
    assert result.matched_ratio == pytest.approx(1 - off / 100)
    assert result.share_off == pytest.approx(off / 100)


def test_the_cap_fails_what_the_share_would_pass():
    reference = torch.ones(1000)
    output = reference.clone()
    output[3] = 11.0
    assert official_gate(output, reference, LOOSE).passed
    capped = official_gate(output, reference, Tolerance(max_error_cap=5.0))
    assert capped.status == "INCORRECT_NUMERICAL"
    assert "cap" in capped.reason
    assert capped.max_absolute_error == 10.0


def test_a_failure_says_where_and_how_much():
    reference = torch.arange(1.0, 13.0).reshape(3, 4)
    output = reference.clone()
    output[1, 2] = 0.0
    output[2, 0] = 18.0
    result = official_gate(output, reference, LOOSE, "y")
    assert result.output == "y"
    assert result.first is not None
    assert result.first.index == (1, 2)
    assert (result.first.expected, result.first.got) == (7.0, 0.0)
    assert result.max_absolute_error == 9.0
    assert result.max_relative_error == 1.0
    assert result.share_off == pytest.approx(2 / 12)


def test_the_first_difference_is_found_beyond_the_first_chunk():
    reference = torch.ones(2, CHUNK_ELEMENTS["cpu"])
    output = reference.clone()
    output[1, 5] = 3.0
    result = official_gate(output, reference, STRICT)
    assert result.first is not None
    assert result.first.index == (1, 5)
    assert result.matched_ratio == 1 - 1 / (2 * CHUNK_ELEMENTS["cpu"])


def test_shape_comes_before_dtype_and_both_before_numbers():
    reference = torch.ones(2, 3)
    assert official_gate(torch.ones(3, 2, dtype=torch.int8), reference, LOOSE).status == (
        "INCORRECT_SHAPE"
    )
    assert official_gate(torch.ones(2, 3).double(), reference, LOOSE).status == "INCORRECT_DTYPE"
    assert official_gate(torch.ones(1, 3), reference, LOOSE).status == "INCORRECT_SHAPE"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_one_non_finite_element_fails_however_many_match(bad):
    reference = torch.ones(100_000)
    output = reference.clone()
    output[7] = bad
    result = official_gate(output, reference, LOOSE)
    assert result.status == "INCORRECT_NUMERICAL"
    assert result.first is not None
    assert result.first.index == (7,)
    assert (result.has_nan, result.has_inf) == (math.isnan(bad), math.isinf(bad))
    assert result.reference_is_finite
    assert math.isfinite(result.max_absolute_error)


def test_equal_infinities_fail_and_are_the_references_fault():
    both = vector(1.0, -math.inf)
    result = official_gate(both, both.clone(), LOOSE)
    assert not result.passed
    assert not result.reference_is_finite


def test_matching_negative_infinities_pass_where_allowed():
    tolerance = Tolerance(allow_negative_inf=True)
    both = vector(1.0, -math.inf)
    assert official_gate(both, both.clone(), tolerance).passed
    one_sided = official_gate(vector(1.0, 2.0), both, tolerance)
    assert not one_sided.passed
    assert one_sided.reference_is_finite
    assert not official_gate(vector(1.0, math.inf), vector(1.0, math.inf), tolerance).passed


def test_all_zeros_fail_even_within_the_absolute_tolerance():
    reference = torch.full((10,), 0.005)
    result = official_gate(torch.zeros(10), reference, LOOSE)
    assert not result.passed
    assert "all zeros" in result.reason
    assert official_gate(torch.zeros(10), torch.zeros(10), LOOSE).passed


def test_zero_tolerance_never_yields_nan():
    result = official_gate(torch.zeros(4), torch.zeros(4), STRICT)
    assert result.passed
    assert result.max_relative_error == 0.0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.bool])
def test_every_type_is_compared_in_float32(dtype):
    reference = torch.tensor([1.0, 0.0, 1.0]).to(dtype)
    assert official_gate(reference.clone(), reference, STRICT).passed
    assert not official_gate(torch.tensor([1.0, 1.0, 1.0]).to(dtype), reference, STRICT).passed


def test_packed_four_bit_codes_are_unpacked():
    # 0x42: low nibble 2 is 1.0, high nibble 4 is 2.0; 0xC2 negates the high one
    reference = torch.tensor([0x42], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    output = torch.tensor([0xC2], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    result = official_gate(output, reference, STRICT)
    assert result.max_absolute_error == 4.0
    assert result.matched_ratio == 0.5
    assert result.first is not None
    assert (result.first.expected, result.first.got) == (2.0, -2.0)


def test_empty_and_scalar_outputs():
    assert official_gate(torch.empty(0, 3), torch.empty(0, 3), STRICT).passed
    result = official_gate(torch.tensor(1.0), torch.tensor(2.0), STRICT)
    assert result.first is not None
    assert result.first.index == ()


def test_of_several_outputs_the_first_failing_one_is_reported():
    good, bad = torch.ones(3), torch.tensor([1.0, 1.0, 9.0])
    result = official_gate_all({"a": good, "b": bad}, {"a": good, "b": good}, LOOSE)
    assert result.output == "b"
    errors = official_gate_all({"a": good + 0.005, "b": good}, {"a": good, "b": good}, LOOSE)
    assert errors.passed
    assert errors.max_absolute_error == pytest.approx(0.005, rel=1e-4)


class TestBudget:
    oracle = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)

    def test_twice_the_references_rms_error_is_allowed(self):
        reference = (self.oracle + 1e-3).float()
        assert budget_gate((self.oracle + 1.9e-3).float(), reference, self.oracle).passed
        over = budget_gate((self.oracle + 2.1e-3).float(), reference, self.oracle)
        assert not over.passed
        assert "RMS" in over.reason

    def test_one_large_error_fails_and_is_located(self):
        reference = (self.oracle + 1e-3).float()
        output = reference.clone()
        output[2] = 4.0 + 4.5e-3
        result = budget_gate(output, reference, self.oracle, ErrorBudget(rms_multiplier=100))
        assert not result.passed
        assert result.first is not None
        assert result.first.index == (2,)

    def test_an_exact_reference_leaves_one_ulp(self):
        reference = self.oracle.float()
        ulp = torch.finfo(torch.float32).eps
        assert budget_gate(reference * (1 + ulp), reference, self.oracle).passed
        assert not budget_gate(reference * (1 + 4 * ulp), reference, self.oracle).passed

    def test_lower_precision_fails(self):
        torch.manual_seed(0)
        oracle = torch.randn(1000, dtype=torch.float64)
        reference = oracle.float()
        assert not budget_gate(reference.bfloat16().float(), reference, oracle).passed

    def test_integers_must_be_equal(self):
        ints = torch.tensor([1, 2, 3])
        assert budget_gate(ints.clone(), ints, ints.double()).passed
        assert not budget_gate(torch.tensor([1, 2, 4]), ints, ints.double()).passed

    def test_nan_only_where_the_oracle_has_it(self):
        oracle = torch.tensor([math.nan, 1.0], dtype=torch.float64)
        reference = oracle.float()
        assert budget_gate(reference.clone(), reference, oracle).passed
        result = budget_gate(vector(math.nan, math.nan), reference, oracle)
        assert not result.passed
        assert result.first is not None
        assert result.first.index == (1,)


def test_a_reference_of_zero_has_no_relative_error():
    reference = vector(0.0, 2.0)
    result = official_gate(vector(0.005, 2.5), reference, STRICT)
    assert result.max_relative_error == 0.25
    assert result.max_absolute_error == 0.5


def test_chunks_are_counted_together():
    count = 3 * CHUNK_ELEMENTS["cpu"] + 5
    torch.manual_seed(0)
    reference = torch.randn(count)
    output = reference + 0.03 * torch.randn(count)
    result = official_gate(output, reference, LOOSE)
    off = (output - reference).abs() > 0.01 + 0.01 * reference.abs()
    assert result.matched_ratio == 1 - int(off.sum()) / count
    assert result.first is not None
    assert result.first.index == (int(off.nonzero()[0]),)
    assert result.max_absolute_error == float((output - reference).abs().max())
    assert result.max_relative_error == float(((output - reference) / reference).abs().max())


def test_calls_judged_together_get_the_results_they_get_alone():
    """On a GPU small outputs of all calls are judged together; the same code runs here."""
    generator = torch.Generator().manual_seed(7)
    tolerance = Tolerance(max_atol=0.01, max_rtol=0.01, required_matched_ratio=0.9)
    right, mine = [], []
    for call in range(6):
        reference = torch.randn(4, 50, generator=generator)
        output = reference + 0.004 * torch.randn(4, 50, generator=generator)
        if call == 1:
            output[0, :30] += 1.0  # 15 % off: fails
        if call == 2:
            output[0, :10] += 1.0  # 5 % off: passes
        if call == 3:
            output = torch.zeros_like(output)
        if call == 4:
            output[3, 3] = math.nan
        right.append({"y": reference, "z": reference.square()})
        mine.append({"y": output, "z": reference.square()})
    alone = [official_gate_all(*pair, tolerance) for pair in zip(mine, right, strict=True)]
    together = _judge_together(mine, right, tolerance)
    assert [result.passed for result in alone] == [True, False, True, False, False, True]
    for own, joint in zip(alone, together, strict=True):
        # What does not plainly pass is left to be judged by itself.
        assert joint == (own if own.passed else None)


class TestBesideTheReference:
    """No float64 at hand: an output within budget is at most budget plus the reference's error away."""

    error = OutputError(rms=1e-3, largest=2e-3, truth_rms=1.0, truth_largest=1.0)

    def test_the_limits_are_budget_plus_the_references_own_error(self):
        reference = torch.ones(100)
        # RMS: 2 * 1e-3 + 1e-3 = 3e-3; largest: 4 * 2e-3 + 2e-3 = 1e-2.
        assert reference_gate(reference + 2.9e-3, reference, self.error).passed
        result = reference_gate(reference + 3.1e-3, reference, self.error, name="y")
        assert "RMS" in result.reason
        one_off = reference.clone()
        one_off[7] += 9.9e-3
        assert reference_gate(one_off, reference, self.error).passed
        one_off[7] += 3e-4
        result = reference_gate(one_off, reference, self.error)
        assert "largest" in result.reason
        assert result.first is not None
        assert result.first.index == (7,)

    def test_whole_numbers_beyond_float32_are_told_apart(self):
        ints = torch.tensor([2**24, 2**53])
        assert not reference_gate(ints + 1, ints, OutputError()).passed
        assert reference_gate(ints.clone(), ints, OutputError()).passed

    def test_infinities_must_be_where_the_reference_has_them(self):
        reference = vector(1.0, -math.inf)
        assert reference_gate(reference.clone(), reference, self.error).passed
        assert not reference_gate(vector(-math.inf, 1.0), reference, self.error).passed
        assert not reference_gate(vector(1.0, math.inf), reference, self.error).passed

    def test_an_error_known_from_other_inputs_counts_where_it_is_larger(self):
        oracle = torch.ones(4, dtype=torch.float64)
        output = torch.full((4,), 1.001)
        assert not budget_gate(output, torch.ones(4), oracle).passed
        assert budget_gate(output, torch.ones(4), oracle, known=self.error).passed

    def test_each_of_several_calls_has_its_result(self):
        right = {"y": torch.ones(4)}
        wrong = {"y": torch.tensor([1.0, 1.0, 2.0, 1.0])}
        gates = reference_gate_calls(
            [right, wrong], [right, right], {"y": self.error}, ErrorBudget()
        )
        assert [gate.passed for gate in gates] == [True, False]
        assert gates[1].first is not None
        assert gates[1].first.index == (2,)


def test_the_error_of_an_output_is_measured_against_float64():
    truth = torch.tensor([3.0, 4.0], dtype=torch.float64)
    error = measure_error(torch.tensor([3.0, 5.0]), truth)
    assert error.rms == pytest.approx(math.sqrt(0.5))
    assert error.largest == 1.0
    assert error.truth_rms == pytest.approx(math.sqrt(12.5))
    assert error.truth_largest == 4.0
    assert measure_error(torch.tensor([1, 2]), truth) == OutputError()
