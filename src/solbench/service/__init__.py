"""Evaluation as a local HTTP service: submit, ask, fetch, cancel.

Names are imported on first use: the client needs nothing but the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solbench._lazy import imported_on_use

if TYPE_CHECKING:
    from solbench.service._app import make_app as make_app
    from solbench.service._client import Client as Client
    from solbench.service._engine import Engine as Engine
    from solbench.service._problems import ProblemSource as ProblemSource
    from solbench.service._queue import FairQueue as FairQueue
    from solbench.service._records import Health as Health
    from solbench.service._records import Job as Job
    from solbench.service._records import Submission as Submission
    from solbench.service._server import Settings as Settings
    from solbench.service._server import serve as serve

_HOMES = {
    "Client": "_client",
    "Engine": "_engine",
    "FairQueue": "_queue",
    "Health": "_records",
    "Job": "_records",
    "ProblemSource": "_problems",
    "Settings": "_server",
    "Submission": "_records",
    "make_app": "_app",
    "serve": "_server",
}

__all__ = [
    "Client",
    "Engine",
    "FairQueue",
    "Health",
    "Job",
    "ProblemSource",
    "Settings",
    "Submission",
    "make_app",
    "serve",
]

__getattr__ = imported_on_use(__name__, _HOMES)
