"""Calling a solution on slots: what the worker's side is on every device."""

from __future__ import annotations

import time

from solbench.jail._c_call import Call
from solbench.jail._load import Entry, Rejected
from solbench.jail._page import Page
from solbench.jail._types import WorkerPlan
from solbench.jail.protocol import Status


class Slots:
    """The calls of all layouts' slots, once something is loaded and they were met."""

    def __init__(self, plan: WorkerPlan, page: Page) -> None:
        self._plan = plan
        self._page = page
        self._entry: Entry | None = None
        self._calls: dict[tuple[int, int], Call] = {}

    def bind(self, entry: Entry) -> None:
        self._entry = entry

    def _bound(self) -> Entry:
        if self._entry is None:
            raise Rejected(Status.INTERNAL, "nothing is loaded")
        return self._entry

    def _call(self, layout: int, first: int, count: int) -> None:
        """One call on each of these slots, with the time that each says it took."""
        for slot in range(first, first + count):
            call = self._calls.get((layout, slot))
            if call is None:
                raise Rejected(Status.INTERNAL, f"slot {slot} of layout {layout} was never met")
            began = time.perf_counter_ns()
            call()
            self._page.claim(slot - first, time.perf_counter_ns() - began)
