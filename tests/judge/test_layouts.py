import torch
from hypothesis import given
from hypothesis import strategies as st

from solbench.jail.protocol import ScalarField
from solbench.judge._layouts import (
    GUARD_BYTES,
    find_mismatch,
    guard_ranges,
    plan_layout,
    slot_count,
    tensor_arguments,
    tensor_view,
    total_bytes,
)

PAGE = 4096


def layout_of(inputs, outputs, **extra):
    return plan_layout(
        inputs,
        outputs,
        buffer_multiple=PAGE,
        **{"max_slots": 16, "slot_budget_bytes": 32 << 20, **extra},
    )


def test_arguments_keep_their_order_and_scalars_their_values():
    layout = layout_of(
        {"x": torch.zeros(3, 5), "eps": 1e-5, "n": 7, "ids": torch.zeros(2, dtype=torch.int64)},
        {"y": torch.zeros(3, dtype=torch.bfloat16)},
    )
    assert [argument.name for argument in layout.arguments] == ["x", "eps", "n", "ids"]
    assert layout.arguments[1] == ScalarField("eps", 1e-5)
    x, ids = tensor_arguments(layout)
    # 15 floats are 60 bytes: the next cache line starts at 64
    assert (x.offset, x.nbytes, x.dtype, x.shape) == (0, 60, "float32", (3, 5))
    assert (ids.offset, ids.nbytes, ids.dtype) == (64, 16, "int64")
    assert (layout.outputs[0].dtype, layout.outputs[0].nbytes) == ("bfloat16", 6)
    assert layout.input_bytes == layout.output_bytes == PAGE


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=4),
    st.lists(st.integers(0, 5000), min_size=1, max_size=4),
)
def test_tensors_are_aligned_apart_and_inside(input_sizes, output_sizes):
    layout = layout_of(
        {f"i{n}": torch.empty(size, dtype=torch.int8) for n, size in enumerate(input_sizes)},
        {f"o{n}": torch.empty(size, dtype=torch.int8) for n, size in enumerate(output_sizes)},
    )
    for fields, end, gap in (
        (list(tensor_arguments(layout)), layout.input_bytes, 0),
        (list(layout.outputs), layout.output_bytes, GUARD_BYTES),
    ):
        position = 0
        for field in fields:
            assert field.offset % 64 == 0
            assert field.offset >= position
            position = field.offset + field.nbytes + gap
        assert position <= end
        assert end % PAGE == 0


def test_guards_are_everything_that_is_no_output():
    layout = layout_of({}, {"a": torch.zeros(16), "b": torch.zeros(1)})
    covered = torch.zeros(layout.output_bytes, dtype=torch.int8)
    for start, end in guard_ranges(layout):
        covered[start:end] += 1
    for field in layout.outputs:
        covered[field.offset : field.offset + field.nbytes] += 1
        assert covered[field.offset - 1] == 1
    assert bool((covered == 1).all())


def test_views_read_and_write_the_buffer():
    layout = layout_of({}, {"a": torch.zeros(2, 3), "b": torch.zeros((), dtype=torch.int64)})
    buffer = torch.zeros(layout.output_bytes, dtype=torch.uint8)
    a, b = (tensor_view(buffer, field) for field in layout.outputs)
    a[1, 2] = 1.0
    b.fill_(258)
    start = layout.outputs[0].offset + 20
    assert buffer[start : start + 4].tolist() == [0, 0, 128, 63]
    assert buffer[layout.outputs[1].offset :][:2].tolist() == [2, 1]


def test_large_slots_are_few_and_small_ones_many():
    assert slot_count(PAGE, 16, 32 << 20) == 16
    assert slot_count(1 << 30, 16, 32 << 20) == 2
    assert slot_count(1 << 30, 16, 32 << 20, single_bytes=1 << 29) == 1
    layout = layout_of({"x": torch.zeros(1)}, {"y": torch.zeros(1)}, max_slots=3)
    assert total_bytes([layout, layout]) == 2 * 3 * 2 * PAGE


def test_inputs_that_change_form_are_named():
    layout = layout_of({"x": torch.zeros(4), "n": 3}, {"y": torch.zeros(1)})
    assert find_mismatch(layout, {"x": torch.ones(4), "n": 3}) == ""
    assert "x" in find_mismatch(layout, {"x": torch.ones(5), "n": 3})
    assert "x" in find_mismatch(layout, {"x": torch.ones(4).double(), "n": 3})
    assert "n" in find_mismatch(layout, {"x": torch.ones(4), "n": 4})
