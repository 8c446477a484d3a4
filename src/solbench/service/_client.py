"""Speaking to a service; nothing but the standard library."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any

from solbench.errors import DeviceError, InputError
from solbench.service._records import FINISHED, Health, InlineProblem, Job, Submission
from solbench.spec import Problem, Solution

_POLL_S = 20.0
_TIMEOUT_S = 60.0


class Client:
    """One client of a service; its evaluations take turns with those of other clients.

    ``name``: whose turn it is; clients of one name share theirs. Raises ``InputError`` for what the service
    refuses, with its reason, and ``DeviceError`` where it does not answer.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8765", *, token: str = "", name: str = ""
    ) -> None:
        self.url = url.rstrip("/")
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        if name:
            self._headers["X-SolBench-Client"] = name

    def health(self) -> Health:
        """How the service is."""
        return Health.model_validate_json(self._ask("GET", "/v1/health"))

    def submit(self, problem: str | Problem, solution: Solution, **options: Any) -> Job:
        """Queue an evaluation. ``problem``: ``suite:NAME``, a folder below the service's roots, or a problem
        to be sent along. ``options``: the other fields of :class:`Submission`."""
        named = problem if isinstance(problem, str) else _inline(problem)
        submission = Submission(problem=named, solution=solution, **options)
        body = submission.model_dump_json(exclude_none=True).encode()
        return Job.model_validate_json(self._ask("POST", "/v1/jobs", body))

    def job(self, job_id: str, *, wait_s: float = 0.0) -> Job:
        """State, place in the queue and traces. ``wait_s``: at most so long until it is over."""
        query = urllib.parse.urlencode({"wait_s": min(wait_s, _POLL_S)})
        path = f"/v1/jobs/{urllib.parse.quote(job_id, safe='')}?{query}"
        return Job.model_validate_json(self._ask("GET", path))

    def jobs(self, client: str | None = None) -> list[Job]:
        """All jobs, or a client's, without their traces."""
        query = f"?{urllib.parse.urlencode({'client': client})}" if client else ""
        return [
            Job.model_validate(each) for each in json.loads(self._ask("GET", f"/v1/jobs{query}"))
        ]

    def cancel(self, job_id: str) -> Job:
        """Take it out of the queue, or end it; what is over stays as it is."""
        path = f"/v1/jobs/{urllib.parse.quote(job_id, safe='')}"
        return Job.model_validate_json(self._ask("DELETE", path))

    def wait(self, job_id: str, timeout_s: float = 3600.0) -> Job:
        """The job when it is over. Raises ``TimeoutError``."""
        end = time.monotonic() + timeout_s
        while (left := end - time.monotonic()) > 0:
            found = self.job(job_id, wait_s=left)
            if found.state in FINISHED:
                return found
        raise TimeoutError(f"job {job_id} was not over after {timeout_s:g} s")

    def evaluate(
        self, problem: str | Problem, solution: Solution, *, workloads: Sequence[str] | None = None,
        timeout_s: float = 3600.0, **options: Any,
    ) -> Job:  # fmt: skip
        """Submit and wait."""
        chosen = tuple(workloads) if workloads is not None else None
        submitted = self.submit(problem, solution, workloads=chosen, **options)
        return self.wait(submitted.id, timeout_s)

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:
                data: bytes = reply.read()
                return data
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error.code, error.read()) from None
        except (OSError, HTTPException) as error:
            raise DeviceError(f"{self.url} does not answer: {error}") from None


def _inline(problem: Problem) -> InlineProblem:
    return InlineProblem(definition=problem.definition, workloads=problem.workloads)


def _refused(status: int, body: bytes) -> InputError | DeviceError:
    try:
        said = json.loads(body)
        what, key, remedy = said["error"], said.get("key"), said.get("remedy")
    except (ValueError, KeyError, TypeError):
        return DeviceError(f"the service failed with status {status}")
    if status >= 500:
        return DeviceError(f"status {status}: {what}")
    return InputError(f"{what} (status {status})", key=key, remedy=remedy)
