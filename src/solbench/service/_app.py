"""The HTTP face of an engine."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

from solbench.errors import InputError, MissingExtra, SpecError
from solbench.service._engine import Engine, QueueFull, Stopping
from solbench.service._problems import ProblemSource
from solbench.service._records import Health, Job, Refusal, Submission
from solbench.spec import read_json_text

try:
    from fastapi import FastAPI, Path, Query, Request, Response
    from fastapi.concurrency import run_in_threadpool
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
except ImportError as error:
    raise MissingExtra("fastapi", "serve", error) from error

CLIENT_HEADER = "X-SolBench-Client"
_SCHEMAS = "#/components/schemas/"
_LONGEST_CLIENT = 80
_MOST_ERRORS = 20
_LONGEST_WAIT_S = 60.0
_JobId = Annotated[str, Path(min_length=1, max_length=64, description="As `submit` gave it.")]
_REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": Refusal, "description": about}
    for code, about in {
        400: "not JSON, or a field is wrong",
        401: "the token is missing or wrong",
        403: "asked for by another name than this machine's",
        404: "no such job",
        413: "the request is too large",
        415: "the body is not declared as JSON",
        429: "the queue is full",
        503: "the service is stopping",
    }.items()
}
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


class _Refused(Exception):
    def __init__(self, status: int, refusal: Refusal) -> None:
        self.status = status
        self.refusal = refusal


def make_app(
    engine: Engine, problems: ProblemSource, *, token: str = "", most_bytes: int = 8 << 20
) -> FastAPI:
    """The application. Without a ``token`` it answers only to requests that name this machine as their host, so
    that a web page in a browser here cannot speak to it."""
    app = FastAPI(
        title="SolBench",
        version=_version(),
        summary="Evaluate kernels: submit, ask, fetch, cancel.",
        responses=_REFUSALS,
    )
    _check_requests(app, token, most_bytes)
    _add_routes(app, engine, problems, most_bytes)
    plain = app.openapi

    def document() -> dict[str, Any]:
        return _with_submission(plain())

    app.openapi = document  # type: ignore[method-assign]
    return app


def _with_submission(document: dict[str, Any]) -> dict[str, Any]:
    """The body of a submission is read by hand, so that errors say line and key; its schema is added here."""
    schema = Submission.model_json_schema(ref_template=_SCHEMAS + "{model}")
    known = document["components"]["schemas"]
    for name, each in schema.pop("$defs").items():
        known.setdefault(name, each)
    known["Submission"] = schema
    return document


def _check_requests(app: FastAPI, token: str, most_bytes: int) -> None:
    @app.middleware("http")
    async def check(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        refused = _wrong_access(request, token) or _wrong_body(request, most_bytes)
        return _answer(*refused) if refused else await call_next(request)

    @app.exception_handler(_Refused)
    async def refuse(request: Request, error: _Refused) -> Response:
        return _answer(error.status, error.refusal)

    @app.exception_handler(RequestValidationError)
    async def explain(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"][1:])
        return _answer(400, Refusal(error=str(first["msg"]), key=key))


def _wrong_access(request: Request, token: str) -> tuple[int, Refusal] | None:
    if not token:
        host = request.headers.get("host", "").rsplit(":", 1)[0] or "no host"
        if host in _LOCAL_NAMES:
            return None
        return 403, Refusal(error=f"asked for as '{host[:80]}'", remedy="Ask for 127.0.0.1.")
    given = request.headers.get("authorization", "")
    if hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        return None
    remedy = "Send the header 'Authorization: Bearer TOKEN'."
    return 401, Refusal(error="the token is missing or wrong", remedy=remedy)


def _wrong_body(request: Request, most_bytes: int) -> tuple[int, Refusal] | None:
    if request.method != "POST" or not request.url.path.endswith("/jobs"):
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return 415, Refusal(
            error=f"the body is declared as '{kind[:80]}'", remedy="Send application/json."
        )
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > most_bytes:
        return 413, _too_large(most_bytes)
    return None


def _too_large(most_bytes: int) -> Refusal:
    return Refusal(
        error=f"the request is larger than {most_bytes} bytes",
        remedy="Send a smaller solution, or start the service with a larger --most-bytes.",
    )


def _answer(status: int, refusal: Refusal) -> JSONResponse:
    return JSONResponse(refusal.model_dump(mode="json"), status)


def _add_routes(app: FastAPI, engine: Engine, problems: ProblemSource, most_bytes: int) -> None:
    body = {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": _SCHEMAS + "Submission"}}},
    }

    @app.get("/v1/health", summary="How the service is")
    def health() -> Health:
        queued, running = engine.counts()
        return Health(
            version=_version(), devices=engine.devices, queued=queued, running=running,
            stopping=engine.stopping,
        )  # fmt: skip

    @app.post(
        "/v1/jobs", status_code=202, summary="Submit an evaluation",
        openapi_extra={"requestBody": body},
    )  # fmt: skip
    async def submit(request: Request) -> Job:
        text = await _text(request, most_bytes)
        return await run_in_threadpool(_submit, engine, problems, _client(request), text)

    @app.get("/v1/jobs", summary="Jobs, oldest first, without traces")
    def jobs(
        client: Annotated[str | None, Query(description="Only this client's.")] = None,
    ) -> list[Job]:
        return list(engine.jobs(client))

    @app.get("/v1/jobs/{job_id}", summary="State, place in the queue, and traces")
    def job(
        job_id: _JobId,
        wait_s: Annotated[
            float, Query(ge=0, le=_LONGEST_WAIT_S, description="Answer when it is over, or then.")
        ] = 0.0,
    ) -> Job:
        return _known(engine.job(job_id, wait_s=wait_s), job_id)

    @app.delete("/v1/jobs/{job_id}", summary="Cancel")
    def cancel(job_id: _JobId) -> Job:
        return _known(engine.cancel(job_id), job_id)


async def _text(request: Request, most_bytes: int) -> str:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > most_bytes:
            raise _Refused(413, _too_large(most_bytes))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Refused(400, Refusal(error=f"is not UTF-8: byte {error.start}")) from None


def _submit(engine: Engine, problems: ProblemSource, client: str, text: str) -> Job:
    try:
        submission = read_json_text(Submission, text, "request")
        problem = problems.find(submission.problem)
        wanted, name = submission.solution.definition, problem.name
        if wanted != name:
            raise InputError(
                f"this solution is for '{wanted}', the problem is '{name}'",
                key="solution.definition",
            )
        return engine.submit(client, submission, problem)
    except (QueueFull, Stopping) as error:
        status = 429 if isinstance(error, QueueFull) else 503
        raise _Refused(status, Refusal(error=error.what, remedy=error.remedy)) from None
    except InputError as error:
        raise _Refused(400, _refusal(error)) from None


def _refusal(error: InputError) -> Refusal:
    """The first of several errors, with the others beside it."""
    errors = getattr(error, "errors", ()) or (error,)
    parts = [
        {"error": each.what, "key": each.key, "remedy": each.remedy}
        for each in errors[:_MOST_ERRORS]
        if isinstance(each, InputError | SpecError)
    ]
    first = parts[0]
    return Refusal(
        error=first["error"] or "",
        key=first["key"],
        remedy=first["remedy"],
        others=tuple(parts[1:]),
    )


def _client(request: Request) -> str:
    named = request.headers.get(CLIENT_HEADER, "")[:_LONGEST_CLIENT]
    return named or (request.client.host if request.client else "unknown")


def _known(job: Job | None, job_id: str) -> Job:
    if job is None:
        refusal = Refusal(
            error=f"there is no job '{job_id}'", key="id", remedy="Old ones are forgotten."
        )
        raise _Refused(404, refusal)
    return job


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a service that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _version() -> str:
    try:
        return version("solbench")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "unknown"
