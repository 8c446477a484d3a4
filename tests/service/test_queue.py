"""Turns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from solbench.service import FairQueue


def test_clients_take_turns() -> None:
    queue: FairQueue[str] = FairQueue()
    for client, item in (
        ("a", "a1"),
        ("a", "a2"),
        ("a", "a3"),
        ("b", "b1"),
        ("c", "c1"),
        ("b", "b2"),
    ):
        queue.put(client, item)
    assert list(queue) == ["a1", "b1", "c1", "a2", "b2", "a3"]
    assert [queue.take() for _ in range(7)] == ["a1", "b1", "c1", "a2", "b2", "a3", None]


def test_one_that_is_removed_leaves_the_others() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("a", "a1")
    queue.put("a", "a2")
    assert queue.remove("a", "a1")
    assert not queue.remove("a", "a1")
    assert queue.remove("a", "a2")
    assert len(queue) == 0


@given(st.lists(st.sampled_from("abcd"), max_size=30))
def test_what_is_shown_is_what_is_taken_and_nobody_waits_two_rounds(clients: list[str]) -> None:
    queue: FairQueue[tuple[str, int]] = FairQueue()
    for number, client in enumerate(clients):
        queue.put(client, (client, number))
    shown = list(queue)
    taken = [queue.take() for _ in clients]
    assert shown == taken
    for client in set(clients):
        own = [each for each in shown if each[0] == client]
        assert own == sorted(own, key=lambda each: each[1])
    first = shown[: len(set(clients))]
    assert len({client for client, _ in first}) == len(first)
