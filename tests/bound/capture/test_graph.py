"""What a captured graph says: calls kept whole, memory, names, lines, and known contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import function_program, module_program
from solbench.bound._replay import replay
from solbench.bound.capture import capture, run_program
from solbench.bound.graph import ABSENT, Graph
from solbench.errors import CaptureError, InputError, NeedsValues


def graph_of(function: Callable[..., Any], *inputs: Any) -> Graph:
    return capture(function_program(function, inputs))[0]


def meta(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def write_module(folder: Path, source: str) -> Path:
    path = folder / "program.py"
    path.write_text("import torch\nfrom torch import nn\n" + source)
    return path


# -- kept whole ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"is_causal": True}, {"scale": 0.5}, {"enable_gqa": True}, {"mask": True}],
    ids=str,
)
def test_attention_is_one_call_on_sizes_that_could_not_be_run(options: dict[str, Any]) -> None:
    q = meta(4, 32, 16384, 128, dtype=torch.bfloat16)
    kv = meta(4, 8 if options.pop("enable_gqa", False) else 32, 16384, 128, dtype=torch.bfloat16)
    mask = meta(16384, 16384, dtype=torch.bfloat16) if options.pop("mask", False) else None
    grouped = kv.shape[1] != q.shape[1]

    def attend(q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=grouped, **options)

    if mask is not None:
        attend_masked = F.scaled_dot_product_attention
        graph = graph_of(attend_masked, q, kv, kv, mask)
    else:
        graph = graph_of(attend, q, kv, kv)
    assert ops(graph) == ["aten.scaled_dot_product_attention.default"]
    assert graph.values[graph.outputs[0][1]].shape == tuple(q.shape)


def test_attention_and_its_backward_are_one_call_each() -> None:
    def step(x: torch.Tensor) -> Any:
        x = x.detach().requires_grad_(True)
        F.scaled_dot_product_attention(x, x, x, is_causal=True).sum().backward()
        return x.grad

    counted = Counter(ops(graph_of(step, meta(2, 4, 64, 32))))
    assert counted["aten._scaled_dot_product_flash_attention_for_cpu.default"] == 1
    assert counted["aten._scaled_dot_product_flash_attention_for_cpu_backward.default"] == 1
    assert not {"aten.bmm.default", "aten.mm.default"} & set(counted)


def test_convolution_and_its_backward_are_one_call_each() -> None:
    def step(x: torch.Tensor, w: torch.Tensor) -> Any:
        w = w.detach().requires_grad_(True)
        F.conv2d(x, w).sum().backward()
        return w.grad

    graph = graph_of(step, meta(8, 16, 32, 32), meta(32, 16, 3, 3))
    backward = next(node for node in graph.nodes if "backward" in node.op)
    assert ops(graph).count("aten.convolution.default") == 1
    assert backward.op == "aten.convolution_backward.default"
    # No gradient of the input or the bias is asked for.
    assert [output == ABSENT for output in backward.outputs] == [True, False, True]


def test_scaled_product_is_one_call() -> None:
    def product(x: torch.Tensor, w: torch.Tensor, s: torch.Tensor) -> Any:
        return torch._scaled_mm(x, w.t(), s, s, out_dtype=torch.bfloat16)

    fp8 = torch.float8_e4m3fn
    graph = graph_of(product, meta(64, 32, dtype=fp8), meta(48, 32, dtype=fp8), meta(1))
    assert "aten._scaled_mm.default" in ops(graph)


# -- memory --------------------------------------------------------------------------------------


def test_a_mutated_input_is_an_output_of_its_name() -> None:
    def update(cache: torch.Tensor, new: torch.Tensor) -> Any:
        cache[:, 2] = new
        return cache[:, :3]

    graph = graph_of(update, torch.zeros(2, 8), torch.ones(2))
    assert [name for name, _ in graph.outputs] == ["output", "input:cache"]
    assert ops(graph)[-2:] == ["aten.select_scatter.default", "aten.slice.Tensor"]
    returned, written = (graph.values[value] for _, value in graph.outputs)
    assert returned.storage == written.storage == graph.values[graph.inputs["cache"]].storage


def test_one_tensor_under_two_names_is_one_value() -> None:
    x = torch.zeros(3)
    graph = graph_of(lambda a, b: a + b, x, x)
    assert graph.inputs["a"] == graph.inputs["b"]


def test_views_of_one_memory_share_their_storage() -> None:
    base = torch.zeros(4, 4)
    graph = graph_of(lambda a, b, c: a.sum() + b.sum() + c, base[1], base.t(), torch.zeros(2))
    a, b, c = (graph.values[value] for value in graph.inputs.values())
    assert a.storage == b.storage != c.storage
    assert (a.storage_offset, b.stride) == (4, (1, 4))


def test_writing_to_overlapping_inputs_is_refused_with_its_line() -> None:
    base = torch.zeros(4, 4)

    def clash(a: torch.Tensor, b: torch.Tensor) -> Any:
        a.add_(1)
        return b.sum()

    with pytest.raises(
        CaptureError, match=r"line \d+: a.add_\(1\): writes to an input that overlaps"
    ):
        graph_of(clash, base[0], base[:, 0])


def test_geometry_preserving_views_leave_no_call() -> None:
    graph = graph_of(lambda x: x.detach()[:].view(3, 4).expand(3, 4) + 1, torch.zeros(3, 4))
    assert ops(graph) == ["aten.add.Tensor"]


def test_arguments_carry_the_names_and_defaults_of_the_schema() -> None:
    graph = graph_of(lambda x: torch.add(x, 2), torch.zeros(3))
    assert list(graph.nodes[0].args) == ["self", "other", "alpha"]
    assert graph.nodes[0].args["alpha"] == 1


def triple(x: torch.Tensor) -> torch.Tensor:
    return x * 3


def test_a_call_names_the_line_of_the_program_and_not_of_a_library() -> None:
    first = triple.__code__.co_firstlineno
    assert graph_of(triple, torch.zeros(3)).nodes[0].location == f"line {first + 1}: return x * 3"
    graph = graph_of(lambda x: F.normalize(x), torch.zeros(3, 3))
    assert {node.location.split(": ", 1)[1] for node in graph.nodes} == {
        "graph = graph_of(lambda x: F.normalize(x), torch.zeros(3, 3))"
    }


# -- the ladder ----------------------------------------------------------------------------------


def take_lengths(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return x[: int(lengths.max())].sum(0)


def route(x: torch.Tensor) -> torch.Tensor:
    return x[(x @ x.t()).sum(1) > 0]


def test_programs_start_at_the_cheapest_rung_that_can_do() -> None:
    floats, lengths = torch.ones(6, 3), torch.tensor([2, 4])
    assert capture(function_program(torch.relu, (floats,)))[1] == "fake"
    assert capture(function_program(take_lengths, (floats, lengths)))[1] == "values"
    graph, rung = capture(function_program(route, (floats,)))
    assert rung == "real"
    # Every row's sum is positive.
    assert graph.values[graph.outputs[0][1]].shape == (6, 3)


def test_at_the_real_rung_indices_that_were_asked_for_are_known_with_their_views() -> None:
    def routed(x: torch.Tensor) -> Any:
        rows = (x.sum(1) > 0).nonzero().squeeze(1)
        return x[rows + 1]

    x = torch.tensor([[1.0], [-1.0], [1.0], [0.0]])
    graph, rung = capture(function_program(routed, (x,)))
    assert rung == "real"
    gather = next(node for node in graph.nodes if node.op == "aten.index.Tensor")
    (index,) = gather.args["indices"]
    assert graph.known[index.id].tolist() == [1, 3]
    assert graph.inputs["x"] not in graph.known


def test_a_rung_that_does_not_suffice_names_the_line_and_the_next() -> None:
    program = function_program(take_lengths, (torch.ones(6, 3), torch.tensor([2, 4])))
    with pytest.raises(NeedsValues, match=r"line \d+: return x\[: int.*'values' rung") as caught:
        capture(program, "fake")
    assert caught.value.rung == "values"
    with pytest.raises(NeedsValues, match="'real' rung"):
        capture(function_program(route, (torch.ones(6, 3),)), "values")


def test_what_is_too_large_to_compute_is_refused_with_its_line() -> None:
    program = function_program(route, (meta(1 << 16, 1 << 10),))
    with pytest.raises(CaptureError, match=r"line \d+: return x.*more than 64 MiB"):
        capture(program, limit_bytes=64 << 20)


def test_masks_and_indices_are_known_and_floating_inputs_are_not() -> None:
    def masked(x: torch.Tensor, lengths: torch.Tensor) -> Any:
        valid = torch.arange(4) < lengths[:, None]
        causal = torch.full((4, 4), float("-inf")).triu(1)
        return x.masked_fill(~valid, 0) + causal[0] + x

    graph = graph_of(masked, torch.ones(2, 4), torch.tensor([1, 3]))
    shapes = {tuple(tensor.shape) for tensor in graph.known.values()}
    assert graph.inputs["x"] not in graph.known
    less = next(node for node in graph.nodes if node.op == "aten.lt.Tensor")
    assert graph.known[less.outputs[0]].tolist() == [
        [True, False, False, False],
        [True, True, True, False],
    ]
    assert (4, 4) in shapes


def test_a_large_constant_fill_takes_no_memory() -> None:
    graph = graph_of(lambda x: x + torch.zeros(1 << 20, 1 << 12), meta(1 << 20, 1 << 12))
    (zeros,) = graph.known.values()
    assert zeros.shape == (1 << 20, 1 << 12) and zeros.untyped_storage().nbytes() == 4


# -- modules -------------------------------------------------------------------------------------

_TIED = """
class Model(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("mask", torch.tril(torch.ones(8, 8)))
        self.scale = torch.rand(width)
        self.steps = torch.arange(width)

    def forward(self, ids):
        x = self.embed(ids.cuda()) * self.scale + self.steps.to("cuda")
        return self.head(self.mask[:4, :4] @ x)

def get_inputs():
    return [torch.randint(0, 100, (2, 4), device="cuda")]

def get_init_inputs():
    return [1 << 17, 1 << 13]
"""


def test_a_module_of_many_gigabytes_takes_no_memory(tmp_path: Path) -> None:
    graph, rung = capture(module_program(write_module(tmp_path, _TIED)))
    assert rung == "values"
    # The tied weight once; the drawn attribute as an input; the counted one as a constant.
    assert list(graph.inputs) == ["ids", "embed.weight", "mask", "scale"]
    assert graph.values[graph.inputs["embed.weight"]].numel == 1 << 30
    assert [tensor.tolist()[:3] for tensor in graph.constants.values()] == [[0, 1, 2]]
    assert graph.known[graph.inputs["ids"]].max() < 100
    # A table made without chance is known; weights are not.
    assert graph.known[graph.inputs["mask"]][1].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    assert not {graph.inputs["scale"], graph.inputs["embed.weight"]} & set(graph.known)


_TRAINED = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        first, last = nn.Linear(8, 16, bias=False), nn.Linear(16, 4)
        self.net = nn.Sequential(first, nn.BatchNorm1d(16), nn.GELU(), last)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.01)

    def forward(self, x, target):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.net(x), target)
        loss.backward()
        self.optimizer.step()
        return loss

def get_inputs():
    return [torch.randn(5, 8), torch.randint(0, 4, (5,))]
"""


def test_a_training_step_writes_its_parameters_and_statistics(tmp_path: Path) -> None:
    program = module_program(write_module(tmp_path, _TRAINED))
    graph, _ = capture(program)
    written = {name for name, _ in graph.outputs if name.startswith("input:net.")}
    assert {"input:net.0.weight", "input:net.3.bias", "input:net.1.running_var"} <= written
    run = run_program(program)
    replayed = dict(replay(graph, run.inputs))
    for name, expected in run.outputs:
        if name in replayed:
            torch.testing.assert_close(replayed[name], expected)


_PACKED = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 4, bidirectional=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        out, hidden = self.gru(packed)
        return *nn.utils.rnn.pad_packed_sequence(out), hidden

def get_inputs():
    return [torch.randn(6, 3, 3), torch.tensor([6, 2, 3])]
"""


def test_packed_sequences_run_only_their_lengths(tmp_path: Path) -> None:
    program = module_program(write_module(tmp_path, _PACKED))
    graph, rung = capture(program)
    assert rung == "values"
    run = run_program(program)
    replayed = dict(replay(graph, run.inputs))
    for name, expected in run.outputs[:3]:
        torch.testing.assert_close(replayed[name], expected)


def test_a_long_unrolled_loop_is_captured_in_full(tmp_path: Path) -> None:
    source = """
class Model(nn.Module):
    def forward(self, x, h, w):
        for t in range(4000):
            h = torch.tanh(x[t] @ w + h) * 0.5
        return h

def get_inputs():
    return [torch.randn(4000, 2, 8), torch.zeros(2, 8), torch.randn(8, 8)]
"""
    graph, _ = capture(module_program(write_module(tmp_path, source)))
    assert Counter(ops(graph)) == {
        "aten.select.int": 4000, "aten.mm.default": 4000, "aten.add.Tensor": 4000,
        "aten.tanh.default": 4000, "aten.mul.Tensor": 4000,
    }  # fmt: skip


# -- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return x @ torch.zeros(5, 5)", "line 6: return x @ torch.zeros(5, 5): RuntimeError"),
        ("raise SystemExit(1)", "line 6: raise SystemExit(1): SystemExit: 1"),
        ("return 3", "returned no tensor"),
    ],
)
def test_a_failing_program_is_an_error_with_its_line(
    tmp_path: Path, body: str, message: str
) -> None:
    source = f"""
class Model(nn.Module):
    def forward(self, x):
        {body}

def get_inputs():
    return [torch.zeros(4, 4)]
"""
    with pytest.raises(CaptureError) as caught:
        capture(module_program(write_module(tmp_path, source)))
    assert message in str(caught.value)


def test_a_file_that_is_no_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="defines no 'Model'"):
        capture(module_program(write_module(tmp_path, "x = 1\n")))
    with pytest.raises(InputError, match="cannot be read"):
        module_program(tmp_path / "none.py")


def test_replay_in_double_precision_widens_inputs_and_named_types() -> None:
    def program(x: torch.Tensor) -> Any:
        return (x.half() + torch.ones(3, dtype=torch.bfloat16)).float() / 3

    x = torch.tensor([0.1, 0.2, 0.3])
    ((_, result),) = replay(graph_of(program, x), {"x": x}, float64=True)
    torch.testing.assert_close(result, (x.double() + 1) / 3, rtol=1e-15, atol=0)


_MASKED = """
class Model(nn.Module):
    def forward(self, x, mask, bias, scale):
        return x * mask + bias * scale

def get_inputs():
    mask = torch.randint(0, 2, (4, 8)).float()
    bias = torch.zeros(4, 8).masked_fill(torch.rand(4, 8) < 0.5, float("-inf"))
    return [torch.randn(4, 8), mask, bias, torch.tensor(2.0)]
"""


def test_masks_among_floating_inputs_are_known_by_how_they_were_made(tmp_path: Path) -> None:
    graph, rung = capture(module_program(write_module(tmp_path, _MASKED)))
    known = {name for name, value in graph.inputs.items() if value in graph.known}
    assert (rung, known) == ("values", {"mask", "bias"})
    assert set(graph.known[graph.inputs["mask"]].unique().tolist()) == {0.0, 1.0}


def test_equal_masks_of_many_layers_take_memory_once() -> None:
    def layers(x: torch.Tensor) -> torch.Tensor:
        for _ in range(40):
            mask = torch.ones(2048, 2048, dtype=torch.bool).tril()
            x = x.masked_fill(~mask, 0)
        return x

    graph = graph_of(layers, meta(2048, 2048))
    masks = [graph.known[n.outputs[0]] for n in graph.nodes if n.op == "aten.bitwise_not.default"]
    assert len(masks) == 40
    assert len({mask.data_ptr() for mask in masks}) == 1
