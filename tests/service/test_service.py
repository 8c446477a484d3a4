"""The service over HTTP: nothing lost, nothing mixed up, turns, refusals, endings."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from solbench.errors import DeviceError, InputError
from solbench.service import Client, Job, Settings

from .conftest import DEFINITION, FakeJudge, Start, make_scale, make_solution

PROBLEM = make_scale()


def post(url: str, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
    headers = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(f"{url}/v1/jobs", body, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def submission(**changes: Any) -> dict[str, Any]:
    return {
        "problem": {
            "definition": DEFINITION,
            "workloads": [json.loads(PROBLEM.workloads[0].model_dump_json(exclude_unset=True))],
        },
        "solution": json.loads(make_solution().model_dump_json(exclude_unset=True)),
        **changes,
    }


def test_a_hundred_evaluations_of_eight_clients_are_neither_lost_nor_mixed_up(start: Start) -> None:
    service = start()

    def all_of(number: int) -> list[Job]:
        client = service.client(f"client-{number}")
        count = 13 if number < 4 else 12
        jobs = [
            client.submit(PROBLEM, make_solution(f"s-{number}-{each}")) for each in range(count)
        ]
        return [client.wait(job.id, 30) for job in jobs]

    with ThreadPoolExecutor(8) as pool:
        found = [job for jobs in pool.map(all_of, range(8)) for job in jobs]
    assert len(found) == 100
    assert {job.state for job in found} == {"done"}
    assert all(job.solution == job.traces[0].evaluation.log for job in found)
    assert all(job.solution.split("-")[1] == job.client.split("-")[1] for job in found)
    assert sorted(service.judge.order) == sorted(job.solution for job in found)


def test_clients_take_turns_however_much_each_has_put_in(start: Start) -> None:
    service = start()
    greedy, modest = service.client("greedy"), service.client("modest")
    greedy.submit(PROBLEM, make_solution("hold"))
    assert service.judge.began.wait(5)
    first = [greedy.submit(PROBLEM, make_solution(f"g{number}")) for number in range(4)]
    last = [modest.submit(PROBLEM, make_solution(f"m{number}")) for number in range(2)]
    places = [service.client().job(job.id).position for job in (*first, *last)]
    assert places == [0, 2, 4, 5, 1, 3]
    service.judge.go.set()
    for job in (*first, *last):
        modest.wait(job.id, 10)
    assert service.judge.order == ["hold", "g0", "m0", "g1", "m1", "g2", "g3"]


def test_each_device_has_a_queue_of_its_own(start: Start) -> None:
    service = start(devices=("cpu", "cuda:0"))
    client = service.client()
    client.submit(PROBLEM, make_solution("hold"), device="cpu")
    job = client.evaluate(PROBLEM, make_solution("other"), device="cuda:0", timeout_s=10)
    assert (job.state, job.device) == ("done", "cuda:0")
    service.judge.go.set()
    with pytest.raises(InputError, match="device: this service has no device 'tpu'"):
        client.submit(PROBLEM, make_solution(), device="tpu")


def test_jobs_are_cancelled_while_they_wait_and_while_they_run(start: Start) -> None:
    service = start()
    client = service.client("me")
    runs = client.submit(PROBLEM, make_solution("hold"))
    waits = client.submit(PROBLEM, make_solution("later"))
    assert service.judge.began.wait(5)
    assert client.cancel(waits.id).state == "cancelled"
    client.cancel(runs.id)
    assert client.wait(runs.id, 10).error == "cancelled while it ran"
    done = client.evaluate(PROBLEM, make_solution("after"), timeout_s=10)
    assert client.cancel(done.id).state == "done"
    assert [job.state for job in client.jobs("me")] == ["cancelled", "cancelled", "done"]
    assert client.jobs("someone") == []


def test_stopping_finishes_what_runs_and_cancels_what_waits(start: Start) -> None:
    service = start()
    client = service.client()
    runs, waits = (client.submit(PROBLEM, make_solution(name)) for name in ("hold", "later"))
    assert service.judge.began.wait(5)
    told: list[Job] = []
    watchers = [
        threading.Thread(target=lambda job=job: told.append(client.job(job.id, wait_s=10)))
        for job in (runs, waits)
    ]
    for each in watchers:
        each.start()
    threading.Timer(0.2, service.judge.go.set).start()
    service.close()
    for each in watchers:
        each.join()
    assert {job.solution: job.state for job in told} == {"hold": "done", "later": "cancelled"}
    assert service.judge.closed == 1
    with pytest.raises(DeviceError, match="does not answer"):
        client.health()


def test_a_device_that_is_missing_is_told_at_the_start_and_not_to_every_job() -> None:
    from solbench.service._server import running

    judge = FakeJudge()

    def make(device: str) -> FakeJudge:
        if device == "cuda:0":
            raise DeviceError("cuda:0: there is no GPU")
        return judge

    settings = Settings(port=0, devices=("cpu", "cuda:0"))
    with pytest.raises(DeviceError, match="there is no GPU"), running(settings, make):
        pytest.fail("it serves")
    assert judge.closed == 1, "the one that stood is ended"


def test_a_bug_of_one_evaluation_leaves_the_queue_alive(start: Start) -> None:
    service = start()
    client = service.client()
    job = client.evaluate(PROBLEM, make_solution("bug"), timeout_s=10)
    assert (job.state, job.error) == ("failed", "internal error: ZeroDivisionError: a bug")
    assert client.evaluate(PROBLEM, make_solution("next"), timeout_s=10).state == "done"


def test_problems_come_from_the_suite_and_from_below_the_roots(start: Start, roots: Path) -> None:
    client = start(roots=(roots,)).client()
    assert client.evaluate("scale", make_solution(), timeout_s=10).problem == "scale"
    for name in ("../secret", "/etc", "nothing", "suite:nothing", "scale\0"):
        with pytest.raises(InputError):
            client.submit(name, make_solution())


def test_problems_of_clients_can_be_refused(start: Start) -> None:
    with pytest.raises(InputError, match="takes no problems of its clients"):
        start(inline_problems=False).client().submit(PROBLEM, make_solution())


@pytest.mark.parametrize(
    ("body", "key", "says"),
    [
        (b"{", None, ""),
        (b"[]", None, "object"),
        (b"\xff", None, "UTF-8"),
        (json.dumps(submission(mode="quick")).encode(), "mode", "reward"),
        (json.dumps(submission(extra=1)).encode(), "extra", ""),
        (json.dumps(submission(workloads=["x"])).encode(), None, "no workload 'x'"),
        (json.dumps(submission(solution={"name": "s"})).encode(), "solution.definition", "missing"),
        (
            json.dumps(
                submission(solution={**submission()["solution"], "definition": "b"})
            ).encode(),
            "solution.definition",
            "the problem is 'scale'",
        ),
    ],
)
def test_a_malformed_request_is_told_what_and_where(
    body: bytes, key: str | None, says: str, start: Start
) -> None:
    status, refusal = post(start().url, body)
    assert status == 400
    assert says in refusal["error"]
    assert key is None or refusal["key"] == key, refusal


def test_huge_requests_are_refused_whether_they_say_so_or_not(start: Start) -> None:
    service = start(most_bytes=5000)
    status, refusal = post(service.url, b"x" * 5001)
    assert (status, "larger than 5000 bytes" in refusal["error"]) == (413, True)

    def chunks() -> Any:
        for _ in range(6):
            yield b"y" * 1000

    request = urllib.request.Request(
        f"{service.url}/v1/jobs", chunks(), {"Content-Type": "application/json"}, method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=10)
    with error.value:
        assert error.value.code == 413


def test_requests_that_a_web_page_could_make_are_refused(start: Start) -> None:
    url, body = start().url, json.dumps(submission()).encode()
    assert post(url, body, **{"Content-Type": "text/plain"})[0] == 415
    assert post(url, body, Host="evil.example:80")[0] == 403
    assert post(url, body)[0] == 202


def test_a_token_is_asked_for_where_there_is_one(start: Start) -> None:
    service = start(token="secret")
    for token in ("", "other"):
        with pytest.raises(InputError, match="token is missing or wrong"):
            service.client(token=token).health()
    assert service.client(token="secret").health().devices == ("cpu",)


def test_without_a_token_nobody_else_is_served() -> None:
    from solbench.service._server import running

    with (
        pytest.raises(InputError, match="no token"),
        running(Settings(host="0.0.0.0"), lambda device: FakeJudge()),
    ):
        pass


def test_a_full_queue_says_so(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solbench.service._engine.Engine.__init__.__defaults__", (2,))
    service = start()
    client = service.client()
    client.submit(PROBLEM, make_solution("hold"))
    assert service.judge.began.wait(5)
    for name in ("a", "b"):
        client.submit(PROBLEM, make_solution(name))
    with pytest.raises(InputError, match="2 evaluations wait for cpu already"):
        client.submit(PROBLEM, make_solution("c"))
    service.judge.go.set()


def test_an_unknown_job_is_not_found(start: Start) -> None:
    with pytest.raises(InputError, match="there is no job 'x'"):
        start().client().job("x")


def test_the_openapi_document_describes_every_route(start: Start) -> None:
    with urllib.request.urlopen(f"{start().url}/openapi.json", timeout=10) as reply:
        document = json.loads(reply.read())
    assert set(document["paths"]) == {"/v1/health", "/v1/jobs", "/v1/jobs/{job_id}"}
    submit = document["paths"]["/v1/jobs"]["post"]
    body = submit["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/Submission"}
    assert {"202", "400", "413", "429", "503"} <= set(submit["responses"])
    known = document["components"]["schemas"]
    assert {"problem", "solution", "device"} <= set(known["Submission"]["properties"])
    assert {name.rpartition("/")[2] for name in _references(document)} <= set(known)


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(_references(each) for each in value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()


def test_nobody_there_is_an_error_that_names_the_address() -> None:
    with pytest.raises(DeviceError, match=r"http://127\.0\.0\.1:9 does not answer"):
        Client("http://127.0.0.1:9").health()
