"""A program made ready: its inputs as fake tensors whose contents can be computed on demand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from solbench.bound._programs import Call, Program
from solbench.bound.capture._builder import FROM_FLOATS
from solbench.bound.capture._environment import watched
from solbench.bound.capture._recorder import Recorder
from solbench.errors import CaptureError, InputError, NeedsValues


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call on fake tensors, and the recorder that saw them being made."""

    fake_mode: FakeTensorMode
    maker: Recorder
    call: Call

    def contents(self, tensor: torch.Tensor) -> torch.Tensor:
        """What an input holds. The same for the same program and seed; not to be modified."""
        return self.maker.shadow.contents(self.maker.value_of(tensor))


def prepare(program: Program, seed: int, limit_bytes: int) -> Prepared:
    """Load a program and make its inputs, without memory for those whose contents nothing asks for.

    Raises
    ------
    CaptureError
        The program's own code fails; the message names its line.
    """
    # Without fallback kernels: those would run operators for real on zeros of full size.
    fake_mode = FakeTensorMode(allow_non_fake_inputs=True, allow_fallback_kernels=False)
    maker = Recorder(
        fake_mode,
        program.source_file,
        allowed_level=FROM_FLOATS,
        limit_bytes=limit_bytes,
        makes_inputs=True,
    )
    with located(maker), watched(maker.contents_of), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        make = program.load()
        try:
            with fake_mode, maker:
                call = make(seed)
        except Exception:
            if program.input_bytes is not None and program.input_bytes > limit_bytes:
                raise
            # Some code cannot work on fake tensors at all; then its inputs have to be real.
            call = make(seed)
        with fake_mode:
            for tensor in (*call.inputs.values(), *call.attributes.values()):
                maker.fake(tensor)
    return Prepared(fake_mode, maker, call)


@contextmanager
def located(recorder: Recorder) -> Iterator[None]:
    """Failures of the program become errors that name its line."""
    try:
        yield
    except (NeedsValues, InputError):
        raise
    except CaptureError as error:
        line = error.location or recorder.line_of(error)
        raise CaptureError(error.what, location=line or None) from error
    # The program is not ours: whatever it raises is the finding.
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error}".strip().splitlines()
        raise CaptureError(what[0], location=recorder.line_of(error) or None) from error
