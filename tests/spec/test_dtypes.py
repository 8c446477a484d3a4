from __future__ import annotations

import pytest

from solbench.errors import SpecError
from solbench.spec import DTYPES, dtype_of, torch_dtype


@pytest.mark.parametrize("name", list(DTYPES))
def test_the_table_agrees_with_torch(name: str) -> None:
    dtype = torch_dtype(name)
    assert dtype_of(name).bytes_per_element == dtype.itemsize
    assert (dtype_of(name).kind == "float") == dtype.is_floating_point


def test_the_official_names_are_all_there() -> None:
    assert list(DTYPES) == [
        "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
        "float4_e2m1", "float4_e2m1fn_x2", "int64", "int32", "int16", "int8", "bool",
    ]  # fmt: skip


def test_only_4_bit_floats_are_packed() -> None:
    packed = [name for name, dtype in DTYPES.items() if dtype.packed]
    assert packed == ["float4_e2m1", "float4_e2m1fn_x2"]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("torch.float32", "Write 'float32'."),
        ("bf16", "Write 'bfloat16'."),
        ("FP8", "Write 'float8_e4m3fn'."),
        ("complex64", "Use one of: float64, "),
    ],
)
def test_an_unknown_name_gets_a_remedy(name: str, remedy: str) -> None:
    with pytest.raises(SpecError, match=remedy):
        dtype_of(name)
