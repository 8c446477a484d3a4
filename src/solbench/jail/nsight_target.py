"""The program that Nsight Compute watches: a solution's calls, the last of them between marks.

No walls stand here, since the profiler talks to its target over sockets and through files of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from solbench.jail._call import call_setup, make_call, make_slot, torch_dtype
from solbench.jail._load import load
from solbench.jail._wire import decode_plan
from solbench.jail.protocol import TensorField


def main(plan_file: str, inputs_file: str) -> None:
    """Call twice to warm up and once to be watched. ``inputs_file`` holds the input buffer of one slot."""
    plan = decode_plan(Path(plan_file).read_bytes())
    (layout,), device = plan.layouts, torch.device(plan.device)
    content = bytearray(Path(inputs_file).read_bytes())
    inputs = torch.frombuffer(content, dtype=torch.uint8).to(device)
    outputs = torch.zeros(layout.output_bytes, dtype=torch.uint8, device=device)
    torch.cuda.set_device(device)

    def tensor(field: TensorField, in_outputs: bool) -> torch.Tensor:
        buffer = outputs if in_outputs else inputs
        flat = buffer[field.offset : field.offset + field.nbytes]
        return flat.view(torch_dtype(field.dtype)).view(field.shape)

    def stream() -> int:
        return torch.cuda.current_stream(device).cuda_stream

    entry = load(plan.artifact)
    call_setup(entry, plan.artifact, layout, device, stream)
    call = make_call(entry, plan.artifact, layout, make_slot(layout, tensor), stream)
    for _ in range(2):
        call()
    torch.cuda.synchronize(device)
    torch.cuda.profiler.start()  # type: ignore[no-untyped-call]
    call()
    torch.cuda.synchronize(device)
    torch.cuda.profiler.stop()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(*sys.argv[1:])
