"""Rounding of operands: values worked out by hand."""

from __future__ import annotations

import pytest
import torch

from solbench.bound._precision_formats import KINDS, round_to


def row(*values: float) -> torch.Tensor:
    return torch.tensor([values], dtype=torch.float64)


@pytest.mark.parametrize(
    ("kind", "value", "rounded"),
    [
        ("bf16", 1 + 2**-8, 1.0),  # 8 significant bits: the step at 1 is 2^-7, ties to even
        ("bf16", 1 + 3 * 2**-9, 1 + 2**-7),
        ("tf32", 1 + 2**-10, 1 + 2**-10),  # 11 significant bits
        ("tf32", 1 + 2**-12, 1.0),
        ("bf16x3", 1 + 2**-15, 1 + 2**-15),  # two parts of 8 bits
        ("fp16x3", 1 + 2**-21, 1 + 2**-21),  # two parts of 11 bits
        ("tf32x3", 1 + 2**-23, 1.0),
        ("fp32", 1 + 2**-23, 1 + 2**-23),
    ],
)
def test_significant_bits(kind: str, value: float, rounded: float) -> None:
    assert float(round_to(kind, row(value), (-1,))) == rounded


def test_int8_has_127_steps_up_to_the_largest_of_the_row() -> None:
    # step 2/127: 0.5 is 31.75 steps, so 32; 1.0 is 63.5, ties to even: 64
    found = round_to("int8", row(2.0, 0.5, 1.0), (-1,))
    assert found.tolist() == [pytest.approx([2.0, 64 / 127, 128 / 127])]


def test_fp8_has_three_mantissa_bits_below_a_scale_that_takes_the_largest_to_448() -> None:
    # 448 stays; 100 lies between 96 and 104, halfway: ties to even mantissa, 96
    assert round_to("fp8", row(448.0, 100.0, -17.0), (-1,)).tolist() == [[448.0, 96.0, -16.0]]


def test_every_row_has_its_own_scale() -> None:
    tensor = torch.tensor([[127.0, 1.4], [1.27, 0.014]], dtype=torch.float64)
    rows = round_to("int8", tensor, (-1,))
    assert rows.tolist() == [pytest.approx([127.0, 1.0]), pytest.approx([1.27, 0.01])]
    columns = round_to("int8", tensor, (-2,))  # 1.4 is now the largest of its column
    assert columns.tolist() == [
        pytest.approx([127.0, 1.4]),
        [pytest.approx(1.0), pytest.approx(0.01102, rel=1e-3)],
    ]


def test_a_long_sum_has_a_scale_for_every_128_elements() -> None:
    # the first block's largest is 127, the second's 1.27: steps of 1 and of 0.01
    values = [127.0] + [1.4] * 127 + [1.27] + [0.014] * 71
    found = round_to("int8", row(*values), (-1,))[0]
    assert found[:128].tolist() == pytest.approx([127.0] + [1.0] * 127)
    assert found[128:].tolist() == pytest.approx([1.27] + [0.01] * 71)


def test_blocks_lie_along_the_longest_summed_dimension() -> None:
    tensor = torch.ones(1, 130, 2, dtype=torch.float64)
    tensor[0, 0, 0] = 127.0
    tensor[0, 129, 1] = 0.014
    found = round_to("int8", tensor, (1, 2))
    assert found[0, 1:128].unique().tolist() == pytest.approx([1.0])
    assert float(found[0, 129, 1]) == pytest.approx(2 / 127)  # 1.78 steps of 1 / 127


def test_fp4_takes_its_scale_from_sixteen_elements() -> None:
    loud = [6.0, 2.4, -0.3] + [0.0] * 13  # scale 1: 2.4 is nearer 2 than 3; 0.3 nearer 0.5 than 0
    quiet = [x / 8 for x in loud]
    found = round_to("nvfp4", torch.tensor([loud + quiet], dtype=torch.float64), (-1,))[0]
    expected = [6.0, 2.0, -0.5] + [0.0] * 13
    assert found.tolist() == pytest.approx(expected + [x / 8 for x in expected])


def test_fp4_blocks_need_not_fill_the_row() -> None:
    found = round_to("nvfp4", torch.tensor([[3.0] * 16 + [6.0, 1.1]], dtype=torch.float64), (-1,))
    assert found[0, 16:].tolist() == pytest.approx([6.0, 1.0])


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_stay_zeros_and_the_shape_is_kept(kind: str) -> None:
    for shape in ((3, 5), (0, 4), (2, 3, 4)):
        zeros = torch.zeros(shape)
        assert torch.equal(round_to(kind, zeros, (-2,)), zeros)


def split(tensor: torch.Tensor, dtype: torch.dtype, parts: int) -> list[torch.Tensor]:
    """Parts of a tensor scaled so that its largest element is near 1, each the rounding of what is left."""
    found = []
    for _ in range(parts):
        # a part that is far below the range of the format is scaled up, as kernels do
        scale = 2.0 ** float(torch.floor(torch.log2(tensor.abs().max())))
        found.append((tensor / scale).to(dtype).double() * scale)
        tensor = tensor - found[-1]
    return found


@pytest.mark.parametrize(
    ("dtype", "parts", "products"),
    [(torch.float16, 2, 3), (torch.bfloat16, 3, 6)],
    ids=["three passes of fp16", "six passes of bf16"],
)
def test_the_passes_of_an_fp32_product_are_as_exact_as_an_fp32_sum(
    dtype: torch.dtype, parts: int, products: int
) -> None:
    """The real emulation, pass by pass, against the error of a plain float32 product over 4,096 elements."""
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(8, 4096, generator=generator)
    right = torch.randn(4096, 8, generator=generator)
    truth = left.double() @ right.double()
    plain = (left @ right).double() - truth
    lefts, rights = split(left.double(), dtype, parts), split(right.double(), dtype, parts)
    pairs = [(i, j) for i in range(parts) for j in range(parts) if i + j < parts]
    assert len(pairs) == products
    total = sum((lefts[i] @ rights[j] for i, j in pairs), torch.zeros_like(truth))
    error = total.float().double() - truth
    assert float(error.square().mean().sqrt()) <= 2 * float(plain.square().mean().sqrt())
    one_less = sum(
        (lefts[i] @ rights[j] for i, j in pairs if i + j < parts - 1), torch.zeros_like(truth)
    )
    rough = one_less - truth
    assert float(rough.square().mean().sqrt()) > 2 * float(plain.square().mean().sqrt())
