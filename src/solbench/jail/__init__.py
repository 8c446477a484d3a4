"""Everything that touches untrusted code: walls, builders, and the worker.

    with start_zygote() as zygote:
        worker = zygote.spawn(plan, buffers)
        reply = worker.wait(worker.command(Command.LOAD), limits.load_s)

``build`` makes the artifact that a plan names.
"""

from solbench.jail._build import build
from solbench.jail._client import ZygoteClient, start_zygote
from solbench.jail._client import clean_environment as child_environment
from solbench.jail._client import import_path as child_import_path
from solbench.jail._probe import available_layers
from solbench.jail._types import (
    DeviceMemory,
    Limits,
    Reply,
    SlotBuffers,
    Walls,
    Worker,
    WorkerPlan,
    Zygote,
)
from solbench.jail._worker import JailedWorker
from solbench.jail.protocol import (
    CLAIM_COUNT,
    PAGE_BYTES,
    Artifact,
    Command,
    Field,
    Layout,
    ScalarField,
    Status,
    TensorField,
)

__all__ = [
    "CLAIM_COUNT",
    "PAGE_BYTES",
    "Artifact",
    "Command",
    "DeviceMemory",
    "Field",
    "JailedWorker",
    "Layout",
    "Limits",
    "Reply",
    "ScalarField",
    "SlotBuffers",
    "Status",
    "TensorField",
    "Walls",
    "Worker",
    "WorkerPlan",
    "Zygote",
    "ZygoteClient",
    "available_layers",
    "build",
    "child_environment",
    "child_import_path",
    "start_zygote",
]
