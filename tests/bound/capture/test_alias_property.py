"""Random programs that make views of views and write through any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Step = tuple[int, int, int]
"""(what to do, to which alias, with which other alias or position)."""


def _view(x: torch.Tensor, kind: int, at: int) -> torch.Tensor:
    dim = at % x.dim() if x.dim() else 0
    size = x.shape[dim] if x.dim() else 0
    if not x.dim():
        return x.unsqueeze(0)
    match kind % 12:
        case 0:
            return x[(slice(None),) * dim + (slice(at % size, None),)]
        case 1:
            return x[(slice(None),) * dim + (slice(None, None, 2),)]
        case 2:
            return x.select(dim, at % size)
        case 3:
            return x.transpose(0, dim)
        case 4:
            return x.unsqueeze(dim)
        case 5:
            return x.flatten() if x.is_contiguous() else x.permute(*reversed(range(x.dim())))
        case 6:
            return x.diagonal() if x.dim() > 1 else x.view(1, -1) if x.is_contiguous() else x[:1]
        case 7:
            return x.chunk(2, dim)[-1]
        case 8:
            return x.unbind(dim)[-1]
        case 9:
            return x.detach()
        case 10:
            return x.squeeze()
        case _:
            return x.as_strided((2,), (3,), x.storage_offset() % 2)


def _write(x: torch.Tensor, y: torch.Tensor, kind: int) -> None:
    match kind % 6:
        case 0:
            x.mul_(1.5)
        case 1:
            x.add_(y.sum())
        case 2:
            x.fill_(float(kind % 5))
        case 3:
            x.copy_(y.flatten()[:1].sum())
        case 4:
            x.copy_(x.flip(0) if x.dim() else x + 1)
        case _:
            x[...] = x * 2 - y.mean()


def _program(steps: list[Step]) -> Callable[..., Any]:
    def run(x: torch.Tensor) -> Any:
        aliases = [x, x * 2, torch.ones(4, 6)]
        read = []
        for kind, first, second in steps:
            one, other = aliases[first % len(aliases)], aliases[second % len(aliases)]
            if not one.numel():
                continue
            if kind % 3 == 0:
                aliases.append(_view(one, kind // 3, second))
            elif kind % 3 == 1:
                _write(one, other, kind // 3)
            else:
                read.append(one + 1)
        return [*read, *aliases]

    return run


@settings(max_examples=80, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30), st.integers(0, 30)), max_size=25)
)
def test_writes_through_any_view_reach_every_alias(
    assert_exact: Callable[..., None], steps: list[Step]
) -> None:
    assert_exact(_program(steps), (torch.arange(24.0).reshape(4, 6),))
