"""A lifted graph as an SVG picture: inputs above, outputs below, a box for every operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from solbench.bound._lift import LiftedGraph, Step
from solbench.bound._lifted import Map, Reshape, einsum
from solbench.bound._picture_layout import forward_edges, layers_of
from solbench.bound.graph import Value
from solbench.errors import InputError

MOST_BOXES = 60
"""With more operations, those of one line of the reference share a box."""
LARGEST_PICTURE = 240
"""Boxes; with more a picture says nothing."""
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 190, 46, 16, 34, 20
_CHARS = 31

BoxKind = Literal["input", "output", "contraction", "operation"]
_FILL: dict[BoxKind, str] = {
    "input": "#e3eefc",
    "output": "#e3f6e8",
    "contraction": "#fde9c8",
    "operation": "#f4f4f4",
}


@dataclass(slots=True)
class _Box:
    kind: BoxKind
    title: str
    detail: str
    count: int = 1
    operations: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Picture:
    boxes: list[_Box] = field(default_factory=list)
    edges: dict[tuple[int, int], None] = field(default_factory=dict)

    def add(self, box: _Box) -> int:
        self.boxes.append(box)
        return len(self.boxes) - 1


def graph_svg(lifted: LiftedGraph) -> str:
    """The picture. Views have no box of their own: a line leads through them.

    Raises ``InputError`` for a graph that is too large to be seen, even with a box for every line.
    """
    operations = [step for step in lifted.steps if not _is_view(step)]
    picture = _drawn(lifted, by_line=len(operations) > MOST_BOXES)
    if len(picture.boxes) > LARGEST_PICTURE:
        raise InputError(
            f"the graph has {len(picture.boxes)} lines with operations, inputs and outputs; "
            f"a picture shows at most {LARGEST_PICTURE}",
            remedy="Read its YAML instead: 'solbench ir export'.",
        )
    return _svg(picture)


def _is_view(step: Step) -> bool:
    item = step.lifted
    if isinstance(item, Reshape):
        return True
    return len(item.operands) == 1 and not item.ops and not item.contracts and not item.coupled


def _drawn(lifted: LiftedGraph, *, by_line: bool) -> _Picture:
    picture, made, lines = _Picture(), dict[int, int](), dict[str, int]()
    for name, value in lifted.graph.inputs.items():
        box = _Box("input", name, _form(lifted.values[value]))
        made[lifted.resolve(value)] = picture.add(box)
    for step in lifted.steps:
        item = step.lifted
        if isinstance(item, Reshape):
            _pass_on(made, item.value, item.out)
        elif _is_view(step):
            _pass_on(made, item.operands[0].value, item.outs[0])
        else:
            place = _operation(picture, lines if by_line else {}, step, item, lifted)
            for operand in item.operands:
                source = made.get(operand.value)
                if source is not None and source != place:
                    picture.edges[source, place] = None
            made.update(dict.fromkeys(item.outs, place))
    for name, value in lifted.graph.outputs:
        place = picture.add(_Box("output", name, _form(lifted.values[value])))
        source = made.get(lifted.resolve(value))
        if source is not None:
            picture.edges[source, place] = None
    return picture


def _pass_on(made: dict[int, int], source: int, target: int) -> None:
    if source in made:
        made[target] = made[source]


def _operation(
    picture: _Picture, lines: dict[str, int], step: Step, item: Map, lifted: LiftedGraph
) -> int:
    """A box of its own, or that of its line."""
    name = step.node.op.removeprefix("aten.").removesuffix(".default")
    kind: BoxKind = "contraction" if item.contracts else "operation"
    line = step.node.location or name
    if line not in lines:
        lines[line] = picture.add(
            _Box(kind, name, f"{einsum(item)}  {_form(lifted.values[item.outs[0]])}")
        )
        picture.boxes[lines[line]].operations.add(name)
        return lines[line]
    box = picture.boxes[lines[line]]
    box.count += 1
    box.operations.add(name)
    box.kind = "contraction" if "contraction" in (kind, box.kind) else "operation"
    box.title, box.detail = line, f"{box.count} operations: {', '.join(sorted(box.operations))}"
    return lines[line]


def _form(value: Value) -> str:
    dtype = str(value.dtype).removeprefix("torch.")
    return f"{dtype}[{', '.join(map(str, value.shape))}]"


def _svg(picture: _Picture) -> str:
    layers = layers_of(len(picture.boxes), forward_edges(len(picture.boxes), picture.edges))
    widest = max(len(layer) for layer in layers)
    width = 2 * _MARGIN + widest * (_WIDTH + _GAP_X) - _GAP_X
    height = 2 * _MARGIN + len(layers) * (_HEIGHT + _GAP_Y) - _GAP_Y
    places = {
        box: (
            _MARGIN + (widest - len(layer)) * (_WIDTH + _GAP_X) / 2 + at * (_WIDTH + _GAP_X),
            _MARGIN + depth * (_HEIGHT + _GAP_Y),
        )
        for depth, layer in enumerate(layers)
        for at, box in enumerate(layer)
    }
    body = [*_lines(picture, places), *_boxes(picture, places)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            *body,
            "</svg>\n",
        ]
    )


def _lines(picture: _Picture, places: Mapping[int, tuple[float, float]]) -> Iterator[str]:
    """Curves from the foot of a box to the head of its reader; dashed where a loop leads back up."""
    for source, target in picture.edges:
        x, y = places[source][0] + _WIDTH / 2, places[source][1] + _HEIGHT
        to_x, to_y = places[target][0] + _WIDTH / 2, places[target][1]
        bend = max(_GAP_Y / 2, abs(to_y - y) / 2)
        dashed = ' stroke-dasharray="4 3"' if to_y <= y else ""
        yield (
            f'<path d="M{x:.0f} {y:.0f} C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f} '
            f'{to_x:.0f} {to_y:.0f}" fill="none" stroke="#888"{dashed}/>'
        )


def _boxes(picture: _Picture, places: Mapping[int, tuple[float, float]]) -> Iterator[str]:
    for number, box in enumerate(picture.boxes):
        x, y = places[number]
        corner = 14 if box.kind in ("input", "output") else 3
        yield f"<g><title>{escape(box.title)}&#10;{escape(box.detail)}</title>"
        yield (
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="{corner}" '
            f'fill="{_FILL[box.kind]}" stroke="#555"/>'
        )
        for offset, text, weight in ((19, box.title, "bold"), (36, box.detail, "normal")):
            yield (
                f'<text x="{x + 8:.0f}" y="{y + offset:.0f}" font-weight="{weight}">'
                f"{escape(_cut(text))}</text>"
            )
        yield "</g>"


def _cut(text: str) -> str:
    return text if len(text) <= _CHARS else text[: _CHARS - 1] + "…"
