"""Where the boxes of a graph stand: layers by longest path, order within a layer by the neighbours' middle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SWEEPS = 4
"""Passes over the layers, down and up in turn; more change little."""
Edges = Iterable[tuple[int, int]]


def forward_edges(count: int, edges: Edges) -> list[tuple[int, int]]:
    """Edges without those that close a cycle, by a walk in order of the boxes."""
    following: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        following[source].append(target)
    state = [0] * count  # 1: on the way, 2: done
    kept: list[tuple[int, int]] = []
    for root in range(count):
        way = [root] if not state[root] else []
        while way:
            box = way[-1]
            state[box] = 1
            if not following[box]:
                state[box] = 2
                way.pop()
                continue
            target = following[box].pop(0)
            if state[target] != 1:
                kept.append((box, target))
            if state[target] == 0:
                way.append(target)
    return kept


def layers_of(count: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Boxes by layer; every edge leads downwards. ``edges`` have no cycle."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        above[target].append(source)
        below[source].append(target)
    depth = [0] * count
    missing = [len(sources) for sources in above]
    ready = [box for box in range(count) if not missing[box]]
    while ready:
        box = ready.pop()
        for target in below[box]:
            depth[target] = max(depth[target], depth[box] + 1)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    for box in range(count):  # a source stands right above its first reader
        if not above[box] and below[box]:
            depth[box] = min(depth[target] for target in below[box]) - 1
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for box in range(count):
        layers[depth[box]].append(box)
    return _ordered(layers, above, below)


def _ordered(
    layers: list[list[int]], above: list[list[int]], below: list[list[int]]
) -> list[list[int]]:
    """Each box near the middle of its neighbours, so that few lines cross."""
    place = {box: float(at) for layer in layers for at, box in enumerate(layer)}
    for sweep in range(SWEEPS):
        neighbours, order = (above, layers) if sweep % 2 == 0 else (below, layers[::-1])
        for layer in order:
            layer.sort(key=lambda box: _middle(box, neighbours[box], place))
            place.update({box: float(at) for at, box in enumerate(layer)})
    return layers


def _middle(box: int, neighbours: Sequence[int], place: dict[int, float]) -> float:
    return sum(place[n] for n in neighbours) / len(neighbours) if neighbours else place[box]
