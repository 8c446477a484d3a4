"""A queue that is fair between clients: they take turns, however much each has put in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Round robin over clients, first in first out for each. Not locked: its owner does that."""

    def __init__(self) -> None:
        self._turns: dict[str, deque[T]] = {}
        """Clients that wait, the next one first."""

    def put(self, client: str, item: T) -> None:
        self._turns.setdefault(client, deque()).append(item)

    def take(self) -> T | None:
        """The next item; its client goes to the end of the line. ``None`` if there is none."""
        for client, waiting in self._turns.items():
            del self._turns[client]
            item = waiting.popleft()
            if waiting:
                self._turns[client] = waiting
            return item
        return None

    def remove(self, client: str, item: T) -> bool:
        """Take an item out of the middle; ``False`` if it does not wait."""
        waiting = self._turns.get(client)
        if waiting is None or item not in waiting:
            return False
        waiting.remove(item)
        if not waiting:
            del self._turns[client]
        return True

    def __iter__(self) -> Iterator[T]:
        """In the order in which they would be taken."""
        lines = [deque(waiting) for waiting in self._turns.values()]
        while lines:
            for line in lines:
                yield line.popleft()
            lines = [line for line in lines if line]

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._turns.values())
