"""Pictures of graphs: which boxes, which lines, where."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
import torch

from solbench.bound import _picture as picture
from solbench.bound import function_program, graph_svg
from solbench.bound._picture_layout import forward_edges, layers_of
from solbench.bound.ir import lift_program
from solbench.errors import InputError


def t(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, device="meta")


def svg(function: Any, *inputs: torch.Tensor) -> str:
    return graph_svg(lift_program(function_program(function, inputs)).lifted)


def titles(text: str) -> list[str]:
    root = ET.fromstring(text)
    found = root.iter("{http://www.w3.org/2000/svg}title")
    return [(each.text or "").splitlines()[0] for each in found]


def test_a_box_for_every_input_operation_and_output_but_not_for_views() -> None:
    text = svg(lambda a, b: torch.relu((a @ b).T.contiguous()), t(4, 8), t(8, 16))
    names = titles(text)
    assert [n for n in names if n in ("a", "b", "mm", "relu", "output")] == [
        "a",
        "b",
        "mm",
        "relu",
        "output",
    ]
    assert not any(n.startswith(("permute", "transpose", "t")) for n in names)


def test_text_of_the_reference_is_escaped() -> None:
    text = svg(lambda a: torch.where(a < 0, a, a * 2) + (a > 1), t(4))
    ET.fromstring(text)  # well formed


def test_layers_follow_the_longest_path_and_sources_stand_above_their_readers() -> None:
    #  0 → 1 → 2 → 3, and 4 → 3
    layers = layers_of(5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert [sorted(layer) for layer in layers] == [[0], [1], [2, 4], [3]]


def test_lines_that_need_not_cross_do_not() -> None:
    # 0 → 3 and 1 → 2 cross as numbered; one of the layers is turned round
    layers = layers_of(4, [(0, 3), (1, 2)])
    straight = {layers[0].index(a) == layers[1].index(b) for a, b in ((0, 3), (1, 2))}
    assert straight == {True}


def test_an_edge_that_closes_a_cycle_is_left_out_of_the_layers() -> None:
    assert set(forward_edges(3, [(0, 1), (1, 2), (2, 0), (2, 2)])) == {(0, 1), (1, 2)}


def test_repeated_lines_share_a_box_in_a_large_graph() -> None:
    def deep(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        for _ in range(40):
            x = torch.tanh(x @ w)
        return x

    text = svg(deep, t(4, 4), t(4, 4))
    names = titles(text)
    assert len(names) == 4  # x, w, the line, the output
    assert any(re.match(r"line \d+: x = torch.tanh", name) for name in names)
    assert "80 operations: mm, tanh" in text


def test_a_graph_that_is_too_large_even_so_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "LARGEST_PICTURE", 2)
    with pytest.raises(InputError, match="ir export"):
        svg(lambda a: torch.relu(a), t(4))
