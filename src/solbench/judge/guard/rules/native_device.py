"""CUDA and PTX: streams, launches, caches, memory and profilers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from solbench.judge.guard._native import NativeFile
from solbench.judge.guard._registry import Hit, native_rule

_PERSISTING = (
    "cudaLimitPersistingL2CacheSize", "CU_LIMIT_PERSISTING_L2_CACHE_SIZE", "accessPolicyWindow",
    "cudaStreamAttributeAccessPolicyWindow", "cudaAccessPropertyPersisting",
    "CU_ACCESS_PROPERTY_PERSISTING", "cudaLaunchAttributeAccessPolicyWindow",
)  # fmt: skip
_ELSEWHERE = (
    "cudaMallocManaged", "cuMemAllocManaged", "cudaMemPrefetchAsync", "cudaMemcpyPeer",
    "cudaMemcpyPeerAsync", "cudaSetDevice", "cudaDeviceEnablePeerAccess", "cudaHostAllocMapped",
    "cudaIpcOpenMemHandle", "cudaIpcGetMemHandle", "cudaMemGetInfo",
)  # fmt: skip
_PTX_KEEPS = re.compile(r"evict_last|createpolicy|L2::persist|prefetch\.global\.L2::evict_last")
_PTX_TIMER = re.compile(r"%globaltimer|%clock64?\b")


@native_rule("persisting_l2", "alarm")
def persisting_l2(file: NativeFile) -> Iterator[Hit]:
    """Lines are asked to stay in L2 beyond the call."""
    for line, name in file.words(*_PERSISTING):
        yield line, f"{name} keeps lines in L2"
    for line, text in _assembler(file):
        if _PTX_KEEPS.search(text):
            yield line, "a hint that keeps lines in L2"


@native_rule("dependent_launch")
def dependent_launch(file: NativeFile) -> Iterator[Hit]:
    """The next kernel may start early, and none waits for the one before."""
    waits = file.has("cudaGridDependencySynchronize") or any(
        "griddepcontrol.wait" in text for _, text in _assembler(file)
    )
    if waits:
        return
    for line, name in file.words(
        "cudaTriggerProgrammaticLaunchCompletion", "programmaticStreamSerializationAllowed"
    ):
        yield line, f"{name} without a wait"
    for line, text in _assembler(file):
        if "griddepcontrol.launch_dependents" in text:
            yield line, "dependents are launched, and nothing waits"


@native_rule("device_launch")
def device_launch(file: NativeFile) -> Iterator[Hit]:
    """A kernel launches kernels, which a profiler may not record."""
    for start, body in file.device_bodies():
        for found in re.finditer(r"<<<|\bcudaLaunchDevice", body):
            yield file.line(start + found.start()), "a launch from the device"


@native_rule("stream_ignored")
def stream_ignored(file: NativeFile) -> Iterator[Hit]:
    """A kernel is launched on another stream than the caller's, which never waits for it."""
    joins = file.has("cudaStreamWaitEvent", "cudaStreamSynchronize", "cudaDeviceSynchronize",
                     "cuStreamWaitEvent", "cuStreamSynchronize")  # fmt: skip
    for line, name in file.words("cudaStreamCreate\\w*", "cuStreamCreate\\w*"):
        if not joins:
            yield line, f"{name}: the caller's stream never waits for it"
    for line, name in file.words("cudaStreamPerThread", "cudaStreamLegacy"):
        yield line, f"{name} is not the caller's stream"


@native_rule("elsewhere")
def elsewhere(file: NativeFile) -> Iterator[Hit]:
    """Managed, peer or shared memory, another device, or all memory there is."""
    yield from file.words(*_ELSEWHERE)


@native_rule("device_timer")
def device_timer(file: NativeFile) -> Iterator[Hit]:
    """A kernel reads the time."""
    for line, text in _assembler(file):
        if _PTX_TIMER.search(text):
            yield line, "a kernel reads a clock"
    for line, name in file.calls("clock64", "__nanosleep", "globaltimer"):
        yield line, f"{name}()"


@native_rule("profiler", "alarm")
def profiler(file: NativeFile) -> Iterator[Hit]:
    """The profiler's own functions are called."""
    yield from file.words(r"cupti\w+", "cudaProfilerStop", "cuProfilerStop")


@native_rule("launch_unchecked", "note")
def launch_unchecked(file: NativeFile) -> Iterator[Hit]:
    """A failed launch is forgotten: its error is fetched and thrown away."""
    for found in re.finditer(
        r"(?:^|[;{}])\s*(?:\(void\)\s*)?cudaGetLastError\s*\(\s*\)\s*;", file.code
    ):
        yield file.line(found.end() - 1), "an error is fetched and thrown away"


def _assembler(file: NativeFile) -> Iterator[tuple[int, str]]:
    """Lines of PTX: the file's own, or those in its string literals."""
    if file.path.endswith(".ptx") or ".visible .entry" in file.text:
        for number, text in enumerate(file.code.splitlines()):
            yield file.first_line + number, text
        return
    yield from file.literals
