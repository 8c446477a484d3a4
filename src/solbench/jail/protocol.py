"""What judge and worker say to each other. Standard library only: both sides import it.

The worker's only voice is the *page*: 4 KiB of shared memory holding int64 fields. The judge writes a command
and its sequence number; the worker writes the number back when it is done, with a status. Nothing the worker
writes is ever parsed beyond these integers; text goes to the log pipe, of which the judge keeps the tail
and never interprets it.

Layouts (shapes and offsets of the call's tensors) travel once, at spawn, from judge to worker as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

PAGE_BYTES = 4096


class Field(IntEnum):
    """Index of an int64 in the page. The judge writes those below DONE, the worker the others."""

    SEQUENCE = 0
    COMMAND = 1
    LAYOUT = 2
    FIRST_SLOT = 3
    COUNT = 4
    RELEASE = 5
    """CUDA: a queued run waits in its stream until this is the sequence number of its command."""
    DONE = 8
    """Sequence number of the last finished command."""
    STATUS = 9
    FINISHED = 10
    """CUDA: the stream of a queued run writes the command's number here when it gets past the last call."""
    CLAIMS = 16
    """Ring of the worker's claimed nanoseconds per call: advice, never ranked."""


CLAIM_COUNT = 256


class Command(IntEnum):
    LOAD = 1
    """Import the artifact and find its entry."""
    MEET = 2
    """Map every slot of one layout and call once on throwaway values, compiling whatever needs it."""
    SEAL = 3
    """Deny exec and fork for good."""
    ARM = 4
    """Map the inputs of the slots afresh and touch their pages; values may be stale."""
    RUN = 5
    """Call the solution on COUNT consecutive slots, one after another."""
    QUEUE = 6
    """CUDA: enqueue COUNT calls behind a stream wait for the judge's release, and answer at once."""
    EXIT = 7
    SYNCHRONISE = 8
    """CUDA: answer when everything on the device is done."""
    PROFILE = 9
    """Run one call under the profiler; a table goes to the log. On CUDA the first two claims are then the
    nanoseconds in which any kernel ran, and the number of kernels. Advice: untrusted territory."""


class Status(IntEnum):
    OK = 0
    LOAD_FAILED = 1
    ENTRY_MISSING = 2
    CALL_RAISED = 3
    WRONG_COUNT = 4
    """A value-returning solution returned another number of outputs."""
    NOT_A_TENSOR = 5
    """Something whose exact type is not ``torch.Tensor`` (subclasses included)."""
    WRONG_SHAPE = 6
    WRONG_DTYPE = 7
    OUT_OF_MEMORY = 8
    COMPILE_AFTER_SEAL = 9
    """The solution tried to start a process after sealing."""
    UNSUPPORTED = 10
    INTERNAL = 99


@dataclass(frozen=True, slots=True)
class TensorField:
    """One tensor of a call: contiguous, at a byte offset in the slot's buffer of its role."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """Name of a torch dtype, such as ``bfloat16``."""
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class ScalarField:
    name: str
    value: bool | int | float


@dataclass(frozen=True, slots=True)
class Layout:
    """The call of one workload: argument order, and where each slot's buffers hold which tensor."""

    arguments: tuple[TensorField | ScalarField, ...]
    outputs: tuple[TensorField, ...]
    input_bytes: int
    """Size of one slot's input buffer, a multiple of the page size (2 MiB on CUDA)."""
    output_bytes: int
    slots: int
    mutates: tuple[str, ...] = ()
    """Inputs that the problem allows to be written: they lie in the *output* buffer of the slot."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """What the worker loads: a folder of files, made by ``jail.build`` and named by content."""

    folder: str
    entry_file: str
    entry_function: str
    kind: Literal["python", "c", "tvm_ffi", "extension"]
    """``python``: import the file and call the function. Shared objects: with the plain C entry (``c``), with a
    function of TVM FFI, or a Python extension module."""
    destination_passing: bool
    digest: str
    triton_interpreter: bool = False
