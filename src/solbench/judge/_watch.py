"""A kernel of the judge's that looks at the device's clock without pause, and so sees who else has the device.

Contexts of different processes take turns on a GPU: while a kernel of another process runs, every kernel of
the judge's is suspended. One thread that reads the clock in a loop therefore finds a gap as long as the
other's turn, and none while the other process is held back. It also counts its own cycles, which gives the SM
clock in passing.

Launched while the other process works, it begins when that has left the device: the moment, on the device's own
clock, when all its work was done.

The kernel ends by itself after ``LIMIT_NS``, so that nothing can wait for it for ever.
"""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass

import torch

from solbench.errors import DeviceError
from solbench.jail import cuda_driver

GAP_NS = 20_000
"""Two looks are about 1 us apart on an undisturbed device; a turn of another process takes hundreds."""
LIMIT_NS = 50_000_000
_START_TIMEOUT_S = 1.0
_END_SLACK_S = 1.0

_WORDS = 8
_RUNNING, _ENDED, _START, _END, _LONGEST, _TOTAL, _COUNT, _CYCLES = range(_WORDS)

# Plain PTX for any card since 2017: the driver translates it, so no compiler is needed.
_PTX = b"""
.version 6.4
.target sm_70
.address_size 64

.visible .entry watch(
    .param .u64 stop_address,
    .param .u64 report_address,
    .param .u64 token_value,
    .param .u64 gap_limit_ns,
    .param .u64 time_limit_ns)
{
    .reg .pred %long, %late, %going;
    .reg .b64 %stop, %report, %token, %gap_limit, %time_limit;
    .reg .b64 %start, %last, %now, %gap, %longest, %total, %count, %word, %first_cycle, %cycles;

    ld.param.u64 %stop, [stop_address];
    ld.param.u64 %report, [report_address];
    ld.param.u64 %token, [token_value];
    ld.param.u64 %gap_limit, [gap_limit_ns];
    ld.param.u64 %time_limit, [time_limit_ns];
    mov.u64 %longest, 0;
    mov.u64 %total, 0;
    mov.u64 %count, 0;
    mov.u64 %start, %globaltimer;
    mov.u64 %first_cycle, %clock64;
    mov.u64 %last, %start;
    st.volatile.global.u64 [%report], %token;
LOOK:
    mov.u64 %now, %globaltimer;
    sub.u64 %gap, %now, %last;
    mov.u64 %last, %now;
    max.u64 %longest, %longest, %gap;
    setp.gt.u64 %long, %gap, %gap_limit;
    @%long add.u64 %total, %total, %gap;
    @%long add.u64 %count, %count, 1;
    sub.u64 %gap, %now, %start;
    setp.gt.u64 %late, %gap, %time_limit;
    @%late bra LEAVE;
    ld.volatile.global.u64 %word, [%stop];
    setp.ne.u64 %going, %word, %token;
    @%going bra LOOK;
LEAVE:
    mov.u64 %cycles, %clock64;
    sub.u64 %cycles, %cycles, %first_cycle;
    st.volatile.global.u64 [%report+16], %start;
    st.volatile.global.u64 [%report+24], %last;
    st.volatile.global.u64 [%report+32], %longest;
    st.volatile.global.u64 [%report+40], %total;
    st.volatile.global.u64 [%report+48], %count;
    st.volatile.global.u64 [%report+56], %cycles;
    membar.sys;
    st.volatile.global.u64 [%report+8], %token;
    ret;
}
\x00"""


@dataclass(frozen=True, slots=True)
class Watched:
    """What the kernel saw from its first look to its last, both on the device's clock."""

    began_ns: int
    ended_ns: int
    longest_gap_ns: int
    gaps: int
    """Times that it did not look for more than ``GAP_NS``."""
    gaps_ns: int
    """Their sum."""
    cycles: int
    """Of the multiprocessor that it ran on."""
    seen_ns: int = 0
    """When the host saw the end, by ``time.perf_counter_ns``."""

    @property
    def duration_ns(self) -> int:
        """Between first and last look."""
        return self.ended_ns - self.began_ns

    @property
    def undisturbed(self) -> bool:
        """Nothing else had the device."""
        return self.gaps == 0

    @property
    def complete(self) -> bool:
        """It was told to end, and did not run into its limit."""
        return self.duration_ns < LIMIT_NS

    @property
    def sm_clock_mhz(self) -> float:
        """Mean clock while it looked; meaningless after a gap, since it may move to another multiprocessor."""
        return 1e3 * self.cycles / self.duration_ns if self.duration_ns else 0.0

    def evidence(self) -> str:
        """Who had the device, in words; empty if only the judge."""
        if self.undisturbed:
            return ""
        return (
            f"other work had the device {self.gaps} times for {self.gaps_ns / 1e3:.0f} us in the "
            f"{self.duration_ns / 1e3:.0f} us between the arrival of the inputs and the release"
        )


class WatchKernel:
    """One per device. ``start`` or ``launch``, then work on the current stream, ``stop`` in it, ``wait``."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._function = cuda_driver.load_kernel(_PTX, "watch")
        self._stream = torch.cuda.Stream(device, priority=-1)  # type: ignore[no-untyped-call]
        self._stop_word = torch.zeros(1, dtype=torch.int64, device=device)
        self._report = torch.zeros(_WORDS, dtype=torch.int64, pin_memory=True)
        self._words = (ctypes.c_int64 * _WORDS).from_address(self._report.data_ptr())
        self._token = 0
        torch.cuda.synchronize(device)

    def start(self) -> None:
        """Launch it and wait until it looks."""
        self.launch()
        self._await(_RUNNING, _START_TIMEOUT_S)

    def launch(self) -> None:
        """Let it begin as soon as the device is free for it."""
        self._token += 1
        cuda_driver.launch(
            self._function,
            self._stream.cuda_stream,
            self._stop_word.data_ptr(),
            self._report.data_ptr(),
            self._token,
            GAP_NS,
            LIMIT_NS,
        )

    def stop(self) -> None:
        """End it when the current stream gets here."""
        stream = torch.cuda.current_stream(self._device).cuda_stream
        cuda_driver.stream_write_value(stream, self._stop_word.data_ptr(), self._token)

    def wait(self) -> Watched:
        """Spin until it has ended; returns within a microsecond or two of that."""
        self._await(_ENDED, LIMIT_NS / 1e9 + _END_SLACK_S)
        seen_ns = time.perf_counter_ns()
        words = self._words
        return Watched(
            began_ns=words[_START],
            ended_ns=words[_END],
            longest_gap_ns=words[_LONGEST],
            gaps=words[_COUNT],
            gaps_ns=words[_TOTAL],
            cycles=words[_CYCLES],
            seen_ns=seen_ns,
        )

    def _await(self, word: int, timeout_s: float) -> None:
        words, token = self._words, self._token
        deadline = time.perf_counter() + timeout_s
        while words[word] != token:
            if time.perf_counter() > deadline:
                raise DeviceError(
                    f"{self._device}: a kernel of the judge's own did not answer within {timeout_s:g} s; "
                    "other work may occupy the device"
                )
