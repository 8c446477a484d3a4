"""Running the service until it is told to end."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from solbench.errors import DeviceError, InputError, MissingExtra
from solbench.service._engine import Engine, EvaluatesAsync
from solbench.service._problems import ProblemSource

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LINGER_S = 1.0
"""After the last job is over, so that clients that wait get their answer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a service listens, and what it takes."""

    host: str = "127.0.0.1"
    port: int = 8765
    """0: any that is free."""
    devices: tuple[str, ...] = ("cpu",)
    roots: tuple[Path, ...] = ()
    token: str = ""
    """Required where others than this machine can reach it."""
    inline_problems: bool = True
    most_bytes: int = 8 << 20
    grace_s: float = 60.0
    """What an evaluation that runs is given when the service is told to stop."""


@contextmanager
def running(settings: Settings, make_judge: Callable[[str], EvaluatesAsync]) -> Iterator[str]:
    """The service in threads of this process; gives its URL. It is stopped gracefully at the end.

    Raises ``InputError`` for an address beyond this machine without a token, ``MissingExtra`` without the
    server's packages, ``DeviceError`` where it cannot listen or a device is missing.
    """
    from solbench.service._app import is_loopback, make_app

    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("uvicorn", "serve", error) from error
    if not settings.token and not is_loopback(settings.host):
        raise InputError(
            f"others can reach {settings.host}, and there is no token",
            key="--host",
            remedy="Set SOLBENCH_SERVICE_TOKEN, or listen on 127.0.0.1.",
        )
    with Engine(settings.devices, make_judge) as engine:
        problems = ProblemSource(settings.roots, inline=settings.inline_problems)
        app = make_app(engine, problems, token=settings.token, most_bytes=settings.most_bytes)
        config = uvicorn.Config(
            app, host=settings.host, port=settings.port, log_level="warning", ws="none",
            timeout_graceful_shutdown=5,
        )  # fmt: skip
        server = uvicorn.Server(config)
        with _listen(settings) as listener:
            engine.warm_up()
            thread = threading.Thread(target=server.run, args=([listener],), name="http")
            thread.start()
            try:
                yield _url(listener, settings.host)
                engine.stop(settings.grace_s)
                thread.join(_LINGER_S)
            finally:
                server.should_exit = True
                thread.join()


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        raise DeviceError(f"cannot listen on {where}: {error.strerror or error}") from None


def _url(listener: socket.socket, host: str) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


def serve(settings: Settings, on_start: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``on_start`` is given the URL. Call it from the main thread.

    Then nothing new is taken, what waits is cancelled, and what runs is finished. A second signal ends it at
    once.
    """
    from solbench.judge import Judge

    told = threading.Event()

    def stop(number: int, frame: object) -> None:
        if told.is_set():
            raise KeyboardInterrupt
        told.set()

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        with running(settings, Judge) as url:
            on_start(url)
            while not told.wait(1.0):
                """Woken now and then, so that Python runs the handler."""
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
