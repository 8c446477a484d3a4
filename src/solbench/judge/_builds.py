"""Compilers run beside the judge's other work, but one at a time, and never while something is timed.

Nothing here needs torch: a solution that is known beforehand is built while the judge imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from threading import Thread

from solbench.jail import build
from solbench.jail.protocol import Artifact
from solbench.judge._phases import Phases
from solbench.spec import Definition, Solution, signature_error, solution_digest

_GPU_LANGUAGES = frozenset(
    {"cuda_cpp", "cutlass", "cudnn", "cublas", "cute_dsl", "cutile", "cudnn_frontend"}
)

Building = Future[Artifact]
"""Raises what ``build`` raises, when it is asked for its result."""


def refusal(solution: Solution, definition: Definition, device: str) -> str | None:
    """Why a solution is not even built; ``None`` if it is."""
    languages = _GPU_LANGUAGES.intersection(solution.spec.languages)
    if device == "cpu" and languages:
        return f"{', '.join(sorted(languages))} needs an NVIDIA GPU: use device cuda:0"
    return signature_error(solution, definition)


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A build that was begun before it was asked for."""

    digest: str
    building: Building


class Builds:
    """The builds of one judge."""

    def __init__(
        self,
        device: str,
        phases: Phases,
        make: Callable[[Solution, str], Artifact] = build,
    ) -> None:
        self._device = device
        self._phases = phases
        self._make = make
        self._ahead: _Ahead | None = None

    def begin(self, solution: Solution, definition: Definition) -> None:
        """Build it already, unless it would be refused. Whoever asks for something else first waits for it."""
        self.settle()
        if refusal(solution, definition, self._device) is None:
            self._ahead = _Ahead(solution_digest(solution), self._start(solution))

    def take(self, solution: Solution) -> Building:
        """The build of a solution: the one that was begun, or one that begins now."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.digest == solution_digest(solution):
            return ahead.building
        if ahead is not None:
            wait([ahead.building])
        return self._start(solution)

    def settle(self) -> None:
        """Wait for a build that nobody has taken: what comes may be timed."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            wait([ahead.building])

    def _start(self, solution: Solution) -> Building:
        building: Building = Future()

        def run() -> None:
            try:
                with self._phases.within("build"):
                    artifact = self._make(solution, self._device)
            except BaseException as error:  # noqa: BLE001 - the thread's boundary: raised where it is asked for
                building.set_exception(error)
            else:
                building.set_result(artifact)

        # A daemon: a judge that cannot start must not wait for a compiler, which ends with this process.
        Thread(target=run, name="build", daemon=True).start()
        return building
