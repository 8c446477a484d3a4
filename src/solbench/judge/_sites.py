"""Where a program chooses: seen, and changed, while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from solbench.judge._pushes import Push, push_result

Kind = Literal["selection", "rounding"]

_SELECTING = {"topk": 2, "sort": 1, "argmax": 1, "argmin": 1, "max": 1, "min": 1}
"""Operation → place of the dimension among its arguments."""

_COARSE = frozenset(
    (
        torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
        torch.float8_e8m0fnu,
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Site:
    """One choice of one run."""

    kind: Kind
    source: torch.Tensor
    """What it is made from."""
    own: torch.Tensor
    """Indices, or rounded values."""
    again: Callable[[torch.Tensor], torch.Tensor]
    """The choice from other values of the source."""
    line: int = 1
    """Out of how many values something is selected."""


class Enough(BaseException):
    """The last choice was made. No ``Exception``, which a reference may catch."""


class Sites(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes every choice, lets ``choose`` put another of the same form in its place, and pushes operations.

    ``until``: the kind, and how many of it, after which the run ends with :class:`Enough`.
    """

    def __init__(
        self,
        choose: Callable[[Site, int], torch.Tensor] | None = None,
        until: tuple[Kind, int] | None = None,
        push: Push | None = None,
        pushed: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.met: dict[Kind, list[Site]] = {"selection": [], "rounding": []}
        self.chosen: dict[Kind, list[torch.Tensor]] = {"selection": [], "rounding": []}
        self._choose = choose
        self._until = until
        self._push = push
        self._pushed = pushed

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        result = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        if name in _SELECTING and _selects(name, args, kwargs):
            return self._selected(func, args, kwargs, result)
        if _rounds(name, args, result):
            return self._rounded(func, args, kwargs, result)
        name = name.removesuffix("_")
        if self._push is not None and name in self._pushed:
            push_result(name, result, self._push)
        return result

    def _selected(self, func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> Any:
        place = _SELECTING[func.overloadpacket.__name__]
        source, dim = args[0], kwargs.get("dim", args[place] if len(args) > place else None)
        line = source.numel() if dim is None or not source.dim() else source.shape[dim]
        alone = isinstance(result, torch.Tensor)

        def again(other: torch.Tensor) -> Any:
            made = func(other, *args[1:], **kwargs)
            return made if alone else made[1]

        own = result if alone else result[1]
        chosen = self._chosen(Site("selection", source.clone(), own, again, line))
        if alone:
            return chosen
        if chosen is own:
            return result
        return _values_at(source, -1 if dim is None else dim, chosen, result[0]), chosen

    def _rounded(self, func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> torch.Tensor:
        def again(other: torch.Tensor) -> Any:
            return func(other, *args[1:], **kwargs).to(result.dtype)

        return self._chosen(Site("rounding", args[0].clone(), result, again))

    def _chosen(self, site: Site) -> torch.Tensor:
        number = len(self.met[site.kind])
        self.met[site.kind].append(site)
        chosen = site.own if self._choose is None else self._choose(site, number)
        if chosen.shape != site.own.shape or chosen.dtype != site.own.dtype:
            chosen = site.own
        self.chosen[site.kind].append(chosen)
        if (site.kind, number + 1) == self._until:
            raise Enough
        return chosen


def _selects(name: str, args: Any, kwargs: dict[str, Any]) -> bool:
    """Between floats, with an index as its result: ``max(x)`` and ``max(x, y)`` give values alone."""
    if not args[0].is_floating_point():
        return False
    if name in ("max", "min"):
        return "dim" in kwargs or (len(args) > 1 and isinstance(args[1], int))
    return True


def _rounds(name: str, args: Any, result: Any) -> bool:
    """To eight bits, or to whole numbers, from which codes of four bits are made."""
    if name == "round":
        return bool(args[0].is_floating_point())
    if name != "_to_copy" or result.dtype not in _COARSE:
        return False
    return bool(args[0].is_floating_point() and args[0].dtype not in _COARSE)


def _values_at(
    source: torch.Tensor, dim: int, indices: torch.Tensor, like: torch.Tensor
) -> torch.Tensor:
    """The values at other indices; ``max`` and ``min`` may have dropped the dimension."""
    if source.dim() and indices.dim() < source.dim():
        return source.gather(dim, indices.unsqueeze(dim)).squeeze(dim)
    return source.gather(dim, indices) if source.dim() else like


def share_turned(sites: list[Site], chosen: list[torch.Tensor]) -> float:
    """Of the places of choices, those that are others; all of them where another number was made."""
    if len(sites) != len(chosen):
        return 1.0
    turned = sum(
        int((_bits(site.own) != _bits(other)).sum())
        for site, other in zip(sites, chosen, strict=True)
    )
    return turned / max(1, sum(site.own.numel() for site in sites))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(torch.uint8) if tensor.dtype in _COARSE else tensor
